"""Runs reducers until none of them finds anything simpler that fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from ..ir.hash import content_hash
from ..ir.program import Program
from ..mutators.tools import Tools
from . import Change, Reducer, load
from .trials import Budget, KeyOf, Run, Spent, Statistics, Step, Trials

FIXPOINT, BUDGET, INTERRUPTED = "fixpoint", "budget", "interrupted"


@dataclass(frozen=True)
class Minimized:
    """What came of it. `stopped`: fixpoint (nothing simpler shows the key), budget or interrupted."""

    program: Program
    before: Program
    key: Hashable
    executions: int
    seconds: float
    stopped: str
    statistics: dict[str, Statistics]


def minimize(
    program: Program, run: Run, tools: Tools, key: Hashable, key_of: KeyOf, *, budget: Budget = Budget(),  # noqa: B008
    width: int = 1, repeats: int = 1, reducers: Sequence[Reducer] | None = None,
    progress: Callable[[Step], None] = lambda step: None,
) -> Minimized:  # fmt: skip
    """The simplest program that reducers lead to from `program` and that still shows `key`.

    `run` executes programs and returns their outcomes in order; it gets up to `width` of them at once. `key_of` gives
    the keys of the failures of an outcome. The result shows `key` (so does `program`, which is not executed), has no
    more operators, and was executed; KeyboardInterrupt ends the search and keeps what it has.
    """
    trials = Trials(program, run, key, key_of, tools, budget, repeats, progress)
    stopped = FIXPOINT
    try:
        _to_fixpoint(trials, load() if reducers is None else list(reducers), max(1, width))
    except Spent:
        stopped = BUDGET
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    return Minimized(trials.best, program, key, trials.executions, trials.seconds, stopped, trials.statistics)


def _to_fixpoint(trials: Trials, reducers: Sequence[Reducer], width: int) -> None:
    """Coarse reducers first; rounds of all of them, until each has had nothing left for the same program."""
    done: dict[str, str] = {}  # reducer -> hash of the program for which it had nothing left
    while True:
        left = [r for r in reducers if done.get(r.name) != content_hash(trials.best)]
        if not left:
            return
        for reducer in left:
            current = content_hash(trials.best)
            sweep = Sweep(trials, reducer, width)
            sweep.in_groups()
            sweep.one_by_one()
            if content_hash(trials.best) == current:
                done[reducer.name] = current


class Sweep:
    """All that one reducer has to offer, once."""

    def __init__(self, trials: Trials, reducer: Reducer, width: int) -> None:
        self.trials, self.reducer, self.width = trials, reducer, width
        self._known: tuple[Program | None, list[Change]] = (None, [])

    def in_groups(self) -> None:
        """Many places at once: all of them, then halves, quarters, ... (Zeller's ddmin)."""
        size = len(self._joint(set()))
        while size > 1:
            tried: set[str] = set()
            while changes := self._joint(tried):
                groups = [changes[i : i + size] for i in range(0, len(changes), size)][: self.width]
                if len(groups[0]) == 1:
                    break
                accepted = self.trials.offer(self.reducer.name, groups)
                last = len(groups) if accepted is None else accepted + 1
                tried |= {c.place for g in groups[:last] for c in g}
            size = min(size, len(self._joint(set()))) // 2

    def one_by_one(self) -> None:
        """Each change by itself, all alternatives of a place."""
        tried: set[tuple[str, str]] = set()
        while changes := [c for c in self._changes() if (c.place, c.how) not in tried]:
            batch = changes[: self.width]
            accepted = self.trials.offer(self.reducer.name, [[c] for c in batch])
            last = len(batch) if accepted is None else accepted + 1
            tried |= {(c.place, c.how) for c in batch[:last]}

    def _changes(self) -> list[Change]:
        best = self.trials.best
        if self._known[0] is not best:
            self._known = best, self.reducer.changes(best, self.trials.tools)
        return self._known[1]

    def _joint(self, tried: set[str]) -> list[Change]:
        """The first joint change of each place."""
        found: dict[str, Change] = {}
        for change in self._changes():
            if change.joint and change.place not in tried:
                found.setdefault(change.place, change)
        return list(found.values())
