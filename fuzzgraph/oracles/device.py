"""Device differences: eager on the CPU against eager on the target's device, within the value oracle's tolerances.

Silent where the target is the CPU. Says nothing of the compiler, so it never makes a program unstable.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ._failure import Failure
from ._leafwise import judge_leaves
from ._taint import taint
from ._types import Quiet, Run, Tools

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program


LEAVES = ("output", "input", "gradient", "state")


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """What must not be compared, as the oracles that compare numbers have it."""
    found = taint(program, book)
    return {
        "outputs": found.outputs, "inputs": found.inputs, "states": found.states, "gradients": not found.sources,
    }  # fmt: skip


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure per kind; a CPU run that raises where the device does not is one of its own."""
    cpu = tools.on_cpu()
    if cpu is None:
        return []
    if cpu.error is not None:
        text = f"{type(cpu.error).__name__}: {cpu.error}"
        return [Failure("device", "error", "run", f"{type(cpu.error).__name__} on the CPU only", text[:2000])]
    found = [f for f in judge_leaves(plan, reference, cpu, Quiet(tools), "device", LEAVES) if f.kind != "zero_sign"]
    return [replace(f, detail=_reworded(f.detail)) for f in found]


def _reworded(detail: str) -> str:
    return detail.replace("in eager", "on the device").replace("compiled", "on the CPU")
