"""Reduces a Python file or script to the least of it that still gets the same verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fuzzgraph.errors import UsageError
from fuzzgraph.execution.protocol import Failure
from fuzzgraph.minimize.source import MOST, Reduced, reduce_source

from .checker import Checker
from .source import load, read
from .verdict import Verdict, verdict


@dataclass(frozen=True)
class Shrunk:
    """`verdict` is the file's own; `before` and `after` count lines that say something."""

    verdict: Verdict
    reduced: Reduced
    before: int
    after: int


def reduce_file(
    path: str, checker: Checker, most: int = MOST, progress: Callable[[str, int], None] | None = None
) -> Shrunk:  # fmt: skip
    """Reduce with the whole verdict kept: its word, the oracle, the kind, and of an exception the type and the stage.

    `progress(text, trials)` hears of each success. Raises UsageError where compiled code does what eager does.
    """
    checked = load(path)
    found = verdict(path, checked, checker.run(checked, path)[1], checker.timeout)
    if found.failure is None:
        said = f"{found.verdict}: {found.detail}" if found.detail else found.verdict
        raise UsageError(f"nothing to keep: {said}", where=path)
    key = core(found.verdict, found.failure)
    trials = 0

    def keeps(text: str) -> bool:
        nonlocal trials
        trials += 1
        try:
            candidate = read(text, path)
        except UsageError:  # it is no file to check any more
            return False
        outcome = checker.run(candidate, f"{path}/{trials}")[1]
        now = verdict(path, candidate, outcome, checker.timeout)
        kept = candidate.form == checked.form and now.failure is not None and core(now.verdict, now.failure) == key
        if kept and progress is not None:
            progress(text, trials)
        return kept

    reduced = reduce_source(checked.text, keeps, most)
    return Shrunk(found, reduced, lines(checked.text), lines(reduced.text))


def core(word: str, failure: Failure) -> tuple[str, ...]:
    """What may not change: an accuracy failure must not become a crash, nor one crash another."""
    key = (word, failure.oracle, failure.kind)
    return (*key, failure.exc_type, failure.stage, *failure.frames[-1:]) if failure.oracle == "crash" else key


def lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))
