"""Deflake: how often a program fails in the same way, in fresh processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from ..execution.protocol import Outcome
from ..ir.program import Program
from .trials import KeyOf, Run

RUNS = 5
# Of RUNS: fewer are not confirmed.
ENOUGH = 3

STABLE, FLAKY, NOT_CONFIRMED = "stable", "flaky", "not confirmed"


@dataclass(frozen=True)
class Confirmation:
    """What some runs of one program showed. `hits`: how many runs showed a key, most frequent first."""

    runs: int
    hits: dict[Hashable, int]
    outcomes: tuple[Outcome, ...] = ()

    def verdict(self, key: Hashable) -> str:
        """stable: every run shows the key; flaky: at least 3 of 5; else not confirmed."""
        count = self.hits.get(key, 0)
        if count and count == self.runs:
            return STABLE
        return FLAKY if count * RUNS >= ENOUGH * self.runs and count else NOT_CONFIRMED


def deflake(program: Program, run: Run, key_of: KeyOf, runs: int = RUNS) -> Confirmation:
    """Run a program some times; `run` must give each program a fresh process."""
    outcomes = run([program] * runs)
    counts: Counter[Hashable] = Counter()
    for outcome in outcomes:
        counts.update(dict.fromkeys(key_of(outcome, program), 1))
    return Confirmation(len(outcomes), dict(counts.most_common()), tuple(outcomes))
