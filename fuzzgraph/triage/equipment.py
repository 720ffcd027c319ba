"""What running single programs takes: an executor for each set of preloads, type inference, the rule book, variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from fuzzgraph.execution.executor import Executor
    from fuzzgraph.generate.variants import Variants
    from fuzzgraph.grammar import RuleBook


class Equipment:
    """Starts what is needed when it is needed; a context manager, which ends it. Not thread-safe.

    `jobs` programs run side by side, each in a process of its own. Without `observers` nothing records features.
    `notice` gets one line per thing that is switched off.
    """

    def __init__(
        self, jobs: int = 1, observers: bool = True, notice: Callable[[str], None] | None = None
    ) -> None:
        self._jobs, self._observers, self._notice = jobs, observers, notice
        self._stack = ExitStack()
        self._executors: dict[tuple[str, ...], Executor] = {}

    def __enter__(self) -> Self:
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
    def variants(self) -> Variants:
        """Makes the programs that oracles compare a program with."""
        from fuzzgraph.generate import Generator
        from fuzzgraph.generate.variants import Variants

        return Variants(Generator(self.book, self.infer))

    def executor(self, preload: Sequence[str]) -> Executor:
        from fuzzgraph.execution.executor import Executor

        key = tuple(preload)
        if key not in self._executors:
            made = Executor(jobs=self._jobs, preload=key, observers=self._observers, on_notice=self._notice)
            self._executors[key] = self._stack.enter_context(made)
        return self._executors[key]

    def release(self, preload: Sequence[str]) -> None:
        """End the processes with these preloads, where there are any. They are started anew when needed."""
        made = self._executors.pop(tuple(preload), None)
        if made is not None:
            made.close()
