"""What triage runs findings with: an executor for each set of preloads, type inference, the rule book."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fuzzgraph.execution.jobs import make_job
from fuzzgraph.execution.protocol import Job, Outcome
from fuzzgraph.ir.program import Program

if TYPE_CHECKING:
    from fuzzgraph.execution.executor import Executor
    from fuzzgraph.generate.variants import Variants
    from fuzzgraph.grammar import RuleBook
    from fuzzgraph.mutators.tools import Tools


class Workshop:
    """Starts what it needs when it is needed. Every job has a process of its own. Not thread-safe: one a thread."""

    def __init__(self, timeout: float, notice: Callable[[str], None] | None = None) -> None:
        self.timeout, self.notice = timeout, notice
        self._stack = ExitStack()
        self._executors: dict[tuple[str, ...], Executor] = {}

    def __enter__(self) -> Workshop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @cached_property
    def infer(self) -> Any:
        from fuzzgraph.execution.infer import InferClient

        return self._stack.enter_context(InferClient())

    @cached_property
    def book(self) -> RuleBook:
        from fuzzgraph.grammar import load_rules

        return load_rules()

    @cached_property
    def tools(self) -> Tools:
        """What reducers work with."""
        from fuzzgraph.minimize._reduction import make_tools

        return make_tools(self.book, self.infer)

    @cached_property
    def variants(self) -> Variants:
        """Makes the programs that oracles compare a program with."""
        from fuzzgraph.generate import Generator
        from fuzzgraph.generate.variants import Variants

        return Variants(Generator(self.book, self.infer))

    def executor(self, preload: Sequence[str]) -> Executor:
        from fuzzgraph.execution.executor import Executor

        key = tuple(preload)
        if key not in self._executors:
            made = Executor(preload=key, observers=False, on_notice=self.notice)
            self._executors[key] = self._stack.enter_context(made)
        return self._executors[key]

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
