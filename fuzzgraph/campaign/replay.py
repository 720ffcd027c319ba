"""Runs given programs alone, each in a fresh process, by the compiler's own path."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fuzzgraph.execution.protocol import Job, Outcome
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.program import Program
from fuzzgraph.triage.equipment import Equipment

from .config import Config
from .parts import JobMaker
from .task import Origin, Task

if TYPE_CHECKING:
    from fuzzgraph.execution.executor import Executor


class Bench(Equipment):
    """Runs programs as a campaign would confirm them. `target` and `preload` go before a program's own.

    `oracles` are those to ask; None: all but those that compile further programs. `jobs` programs run side by side.
    """

    def __init__(
        self, target: str | None, preload: Sequence[str] | None, timeout: float, coverage: str = "",
        jobs: int = 1, oracles: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(jobs)
        self._target, self._preload, self._timeout, self._coverage = target, preload, timeout, coverage
        self._oracles = oracles

    def __enter__(self) -> Bench:
        from fuzzgraph.llm.config import SECRET_VARIABLES

        for name in SECRET_VARIABLES:
            os.environ.pop(name, None)
        return self

    def run(self, name: str, program: Program, settings: Mapping[str, Any]) -> tuple[Job, Outcome]:
        """The job and its outcome. `settings` may hold the target and preload that a finding was found with, and its
        limit in seconds."""
        job = self.job(name, program, settings, self._oracles)
        executor = self._executor(settings)
        executor.start(job.target)
        return job, executor.run([job])[0]

    def run_all(
        self, programs: Sequence[Program], settings: Mapping[str, Any], oracles: Collection[str] | None = None
    ) -> list[Outcome]:
        """Their outcomes, in order, each from a process of its own; `oracles` go before the bench's."""
        asked = self._oracles if oracles is None else sorted(oracles)
        jobs = [self.job(str(number), program, settings, asked) for number, program in enumerate(programs)]
        executor = self._executor(settings)
        for target in sorted({job.target for job in jobs}):
            executor.start(target)
        outcomes: list[Outcome] = executor.run(jobs)
        return outcomes

    def job(
        self, name: str, program: Program, settings: Mapping[str, Any], asked: Sequence[str] | None = None
    ) -> Job:
        """As `run` would submit it; `asked` are the oracles to ask, None: all but those that compile more programs."""
        from fuzzgraph import oracles

        names = oracles.cheap() if asked is None else tuple(asked)
        timeout = float(settings.get("limit") or self._timeout)
        config = Config(target=self.target(settings), timeout=timeout, oracles=names)
        variants = self.variants if set(names) - set(oracles.cheap()) else None
        task = Task(0, program, content_hash(program), Origin("seed"), "confirm")
        return replace(JobMaker(config, self.book, variants)(task), id=name, coverage=self._coverage)

    def target(self, settings: Mapping[str, Any]) -> str:
        return str(self._target or settings.get("target") or "inductor")

    def _executor(self, settings: Mapping[str, Any]) -> Executor:
        return self.executor(settings.get("preload", ()) if self._preload is None else self._preload)
