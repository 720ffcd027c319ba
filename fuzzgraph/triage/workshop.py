"""What triage runs findings with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from fuzzgraph.execution.jobs import make_job
from fuzzgraph.execution.protocol import Job, Outcome
from fuzzgraph.ir.program import Program

from .equipment import Equipment

if TYPE_CHECKING:
    from fuzzgraph.mutators.tools import Tools


class Workshop(Equipment):
    """Runs programs and jobs, each in a process of its own. One a thread."""

    def __init__(self, timeout: float, notice: Callable[[str], None] | None = None) -> None:
        super().__init__(observers=False, notice=notice)
        self.timeout = timeout

    @cached_property
    def tools(self) -> Tools:
        """What reducers work with."""
        from fuzzgraph.minimize._reduction import make_tools

        return make_tools(self.book, self.infer)

    def job(self, id: str, program: Program, target: str, oracles: Collection[str] | None = None) -> Job:
        from fuzzgraph import oracles as known

        only = None if oracles is None else [name for name in known.names() if name in oracles]
        return make_job(program, self.book, id=id, target=target, timeout=self.timeout, only=only)

    def run_programs(
        self, programs: Sequence[Program], target: str, preload: Sequence[str], oracles: Collection[str] | None = None
    ) -> list[Outcome]:
        jobs = [self.job(str(i), program, target, oracles) for i, program in enumerate(programs)]
        return self.run(jobs, preload)

    def run(self, jobs: Sequence[Job], preload: Sequence[str]) -> list[Outcome]:
        """Outcomes in the order of the jobs. Raises EnvironmentProblem where a target of Inductor's kind is missing."""
        return self.executor(preload).run(jobs)
