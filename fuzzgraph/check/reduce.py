"""Reduces a Python file or script to the least of it that still gets the same verdict."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from fuzzgraph.errors import UsageError
from fuzzgraph.execution.protocol import Failure
from fuzzgraph.minimize.source import Reduced, reduce_source

from .checker import Checker
from .source import load, read
from .verdict import Verdict, counted, leading, verdict


class NothingToKeep(UsageError):
    """The file fails no oracle: as for a program, that is an answer and no wrong usage."""

    exit_status = 1


@dataclass(frozen=True)
class Shrunk:
    """`verdict` is the file's own; `before` and `after` count lines that say something."""

    verdict: Verdict
    reduced: Reduced
    before: int
    after: int


def reduce_file(
    path: str, checker: Checker, *, keep: str | None = None, seconds: float = math.inf,
    progress: Callable[[str, int], None] | None = None,
) -> Shrunk:  # fmt: skip
    """Reduce with a failure kept: its oracle and kind, and of an exception the type, the stage and the last frame.

    `keep`: of several failures the first whose core has this word in it; without it, the one that names the verdict.
    `progress(text, trials)` hears of each success. Raises NothingToKeep where no oracle has anything to say.
    """
    checked = load(path)
    outcome = checker.run(checked, path)[1]
    found = verdict(path, checked, outcome, checker.timeout)
    wanted = [f for f in counted(checked, outcome) if keep is None or keep in " ".join(core(f))]
    kept = leading(wanted)
    if kept is None:
        said = f"none has {keep!r} in it: {found.line}" if found.failure else found.line
        raise NothingToKeep(f"no failure to keep: {said}")
    trials = 0

    def keeps(text: str) -> bool:
        nonlocal trials
        trials += 1
        try:
            candidate = read(text, path)
        except UsageError:  # it is no file to check any more
            return False
        if candidate.form != checked.form:
            return False
        outcome = checker.run(candidate, f"{path}/{trials}")[1]
        good = any(core(failure) == core(kept) for failure in counted(candidate, outcome))
        if good and progress is not None:
            progress(text, trials)
        return good

    reduced = reduce_source(checked.text, keeps, seconds=seconds)
    return Shrunk(replace(found, failure=kept), reduced, lines(checked.text), lines(reduced.text))


def core(failure: Failure) -> tuple[str, ...]:
    """What may not change: an accuracy failure must not become a crash, nor one crash another."""
    key = (failure.oracle, failure.kind)
    return (*key, failure.exc_type, failure.stage, *failure.frames[-1:]) if failure.oracle == "crash" else key


def lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))
