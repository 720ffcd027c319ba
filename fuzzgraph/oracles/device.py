"""Device differences: eager on the CPU against eager on the target's device, within the value oracle's tolerances.

Silent where the target is the CPU. Says nothing of the compiler, so it never makes a program unstable.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import value
from ._failure import Failure
from ._types import Run, Tools

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """As the value oracle's."""
    return value.plan(program, book)


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure per kind; a CPU run that raises where the device does not is one of its own."""
    cpu = tools.on_cpu()
    if cpu is None:
        return []
    if cpu.error is not None:
        text = f"{type(cpu.error).__name__}: {cpu.error}"
        return [Failure("device", "error", "run", f"{type(cpu.error).__name__} on the CPU only", text[:2000])]
    found = value.judge(plan, reference, cpu, _Quiet(tools))
    return [
        replace(f, oracle="device", detail=f.detail.replace("in eager", "on the device").replace("compiled", "on the CPU"))
        for f in found
        if f.kind != "zero_sign"  # no device promises that
    ]


class _Quiet:
    """The tools, without a say on the program's stability, and without those that rerun the compiled program."""

    low_precision = False

    def __init__(self, tools: Tools) -> None:
        self.rerun, self.perturbed, self.float64 = tools.rerun, tools.perturbed, tools.float64
        self._tools = tools

    @property
    def float64_problem(self) -> str:
        return self._tools.float64_problem

    def emulated(self) -> Run | None:
        return None

    def on_cpu(self) -> Run | None:
        return None

    def unstable(self, reason: str) -> None:
        """Not this oracle's to say."""
