"""The one commit point: every candidate passes here, and only here one becomes the best program so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from ..execution.protocol import Outcome
from ..ir.builder import Rejected
from ..ir.hash import content_hash
from ..ir.program import Program
from ..mutators.tools import Tools
from . import Change
from ._reduction import reduced

Run = Callable[[Sequence[Program]], list[Outcome]]
KeyOf = Callable[[Outcome, Program], Iterable[Hashable]]


class Spent(Exception):
    """The budget is used up."""


@dataclass(frozen=True)
class Budget:
    """Limits of a minimization; 0 means none."""

    executions: int = 0
    seconds: float = 0.0


@dataclass
class Statistics:
    """What one reducer did: candidates that were executed, those that became the best program, those that were no
    valid program or known already, and the seconds of all of it."""

    tried: int = 0
    accepted: int = 0
    invalid: int = 0
    known: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Step:
    """One accepted candidate, for displays."""

    reducer: str
    how: str
    program: Program
    executions: int


@dataclass
class Trials:
    """Holds the best program so far. `run` executes programs, `key_of` gives the keys of what failed in one of them,
    `key` must be among them. `repeats`: executions that one candidate gets until it shows the key, for flaky ones."""

    best: Program
    run: Run
    key: Hashable
    key_of: KeyOf
    tools: Tools
    budget: Budget = Budget()
    repeats: int = 1
    progress: Callable[[Step], None] = lambda step: None
    executions: int = 0
    statistics: dict[str, Statistics] = field(default_factory=dict)
    _keeps: dict[str, bool] = field(default_factory=dict)  # content hash -> whether it shows the key
    _start: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._keeps[content_hash(self.best)] = False  # itself is no progress

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def offer(self, reducer: str, candidates: Sequence[Sequence[Change]]) -> int | None:
        """Try candidates, each some changes of the best program, side by side. The first that shows the key becomes the
        best program; its position, or None. Raises Spent, where nothing was tried."""
        begun = time.monotonic()
        counts = self.statistics.setdefault(reducer, Statistics())
        try:
            return self._offer(reducer, counts, candidates)
        finally:
            counts.seconds += time.monotonic() - begun

    def _offer(self, reducer: str, counts: Statistics, candidates: Sequence[Sequence[Change]]) -> int | None:
        found = [(at, made) for at, changes in enumerate(candidates) if (made := self._made(counts, changes))]
        fresh: dict[str, Program] = {}
        for _, (name, program) in found:
            if name in self._keeps:
                counts.known += 1
            else:
                fresh[name] = program
        counts.tried += len(fresh)
        self._execute(fresh)
        for at, (name, program) in found:
            if self._keeps[name]:
                self._keeps[name] = False
                self.best = program
                counts.accepted += 1
                how = ", ".join(c.how for c in candidates[at])
                self.progress(Step(reducer, how, program, self.executions))
                return at
        return None

    def _made(self, counts: Statistics, changes: Sequence[Change]) -> tuple[str, Program] | None:
        try:
            made = reduced(self.best, changes, self.tools)
        except Rejected:
            counts.invalid += 1
            return None
        return content_hash(made), made

    def _execute(self, fresh: dict[str, Program]) -> None:
        left = dict(fresh)
        for _ in range(self.repeats):
            if not left:
                return
            self._afford(len(left))
            outcomes = self.run(list(left.values()))
            self.executions += len(left)
            for (name, program), outcome in zip(list(left.items()), outcomes, strict=True):
                self._keeps[name] = self.key in set(self.key_of(outcome, program))
                if self._keeps[name]:
                    del left[name]

    def _afford(self, count: int) -> None:
        limits = self.budget
        if limits.executions and self.executions + count > limits.executions:
            raise Spent
        if limits.seconds and self.seconds >= limits.seconds:
            raise Spent
