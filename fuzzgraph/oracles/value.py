"""Wrong values: outputs, and the numbers in states. See `_leafwise` for what counts as wrong.

It cannot judge random numbers, memory that nobody wrote, indices of ties, and floats that became integers: `plan`
leaves out what is computed from them; nor signs of zero in programs that choose among equal numbers (max(0.0, -0.0) is
either, by IEEE 754-2008's maxNum). Gradients and mutated inputs have oracles of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir.program import op_of
from ._failure import Failure
from ._leafwise import judge_leaves
from ._taint import taint
from ._types import Run, Tools

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Which outputs and states hold what must not be compared, the operators that it came from, which outputs are
    exact, and whether signs of zero are anybody's promise."""
    found = taint(program, book)
    rules = book.rules if book is not None else {}
    chosen = any(_either_zero(rules[op].tags) for op in map(op_of, program.nodes()) if op in rules)
    return {
        "outputs": found.outputs, "exact": found.exact, "states": found.states, "sources": found.sources,
        "zero_signs": not chosen,
    }  # fmt: skip


def _either_zero(tags: frozenset[str]) -> bool:
    """Whether an operator with these tags may give 0.0 for -0.0: where it chooses among both, and where it sums, by
    what the sum begins with."""
    return "either_zero" in tags or ("reduction" in tags and "exact" not in tags)


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure per kind (value, state, zero_sign): the first leaf that shows it."""
    return judge_leaves(plan, reference, subject, tools, "value", ("output", "state"))
