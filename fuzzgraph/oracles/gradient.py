"""Wrong gradients: what backward left in the inputs that require them. See `_leafwise` for what counts as wrong.

It cannot judge programs in which anything is random, uninitialized, index-valued or cut to integers: which of two tied
elements gets the gradient is the same question as which index is reported. Strides of gradients are nobody's promise;
nor is whether what no result depends on has no gradient, or zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._failure import Failure
from ._leafwise import judge_leaves
from ._snapshot import show, table
from ._taint import taint
from ._types import Run, Tools

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Whether gradients can be compared. None for a program without backward."""
    return {"gradients": not taint(program, book).sources} if program.options.grad else None


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure per kind: missing (on one side only), dtype, shape, gradient."""
    if subject.error is not None:
        return []
    found: dict[str, Failure] = {}
    theirs = table(subject)
    for key, a in table(reference).items():
        if key[0] != "gradient" or key not in theirs:
            continue
        b = theirs[key]
        if a is None and b is not None and not b.detach().nan_to_num(nan=0.0).count_nonzero():
            # Where a graph breaks, AOTAutograd takes zeros for what no loss depends on (and NaN, where they meet
            # infinities); eager leaves no gradient.
            continue
        if (a is None) != (b is None):
            on = "compiled" if a is None else "eager"
            failure = Failure("gradient", "missing", "run", f"a gradient in {on} only", show(key))
            found.setdefault("missing", failure)
        elif a is not None:
            for kind, x, y in (("dtype", a.dtype, b.dtype), ("shape", list(a.shape), list(b.shape))):
                if x != y:
                    message = f"{x} became {y}" if kind == "dtype" else "shapes differ"
                    found.setdefault(kind, Failure("gradient", kind, "run", message, f"{show(key)}: {x}, {y}"))
    for failure in judge_leaves(plan, reference, subject, tools, "gradient", ("gradient",)):
        found.setdefault(failure.kind, failure)
    return list(found.values())
