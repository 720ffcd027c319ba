"""Wrong values: outputs, and the numbers in states. See `_leafwise` for what counts as wrong.

It cannot judge random numbers, memory that nobody wrote, indices of ties, and floats that became integers: `plan`
leaves out what is computed from them. Gradients and mutated inputs have oracles of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._failure import Failure
from ._leafwise import judge_leaves
from ._taint import taint
from ._types import Run, Tools

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Which outputs and states hold what must not be compared, the operators that it came from, and which outputs are
    exact."""
    found = taint(program, book)
    return {"outputs": found.outputs, "exact": found.exact, "states": found.states, "sources": found.sources}


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure per kind (value, state, zero_sign): the first leaf that shows it."""
    return judge_leaves(plan, reference, subject, tools, "value", ("output", "state"))
