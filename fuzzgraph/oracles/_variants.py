"""Programs derived from the one that is judged, for the oracles that compare it with those.

Making one takes type inference, which oracles have none of: `generate.variants` makes them, `plan_all` hands them to
the oracle's `plan_variants`, and the child runs what was rendered. They are functions of the program alone, so that a
failure comes again wherever the program is run, and so that `Failure.variant` is enough to make its program anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import aliasing, crash, gradient, metadata, structure, value
from ._failure import Failure
from ._types import Run, Tools, Trial

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program

# What is asked about a variant, which has a reference of its own.
INNER = {
    "crash": crash, "value": value, "gradient": gradient, "metadata": metadata, "aliasing": aliasing,
    "structure": structure,
}  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """A program and its `key`, unique among the variants of one program. `undo` says how its results became those of
    the original: "" (they are), "reversed" (items in reverse order), "first" (item 0)."""

    key: str
    program: Program
    undo: str = ""


# (oracle, program) -> the program's variants for that oracle.
Variants = Callable[[str, "Program"], Sequence[Variant]]


def rendered(program: Program, book: RuleBook | None) -> dict[str, Any]:
    """What a child needs to run and judge another program."""
    from ..render import render

    return {"source": render(program, book).source, "plans": inner_plans(program, book)}


def inner_plans(program: Program, book: RuleBook | None) -> dict[str, Any]:
    plans = {name: oracle.plan(program, book) for name, oracle in INNER.items()}
    return {name: plan for name, plan in plans.items() if plan is not None}


def failures_of(plans: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """What the inner oracles say of a program run both ways."""
    if tools.harmless(subject):
        return []
    return [f for name, plan in plans.items() for f in INNER[name].judge(plan, reference, subject, tools)]


def runs(key: str, trial: Trial, tools: Tools) -> bool:
    """Whether eager runs the variant; a variant that it refuses is no failure, and noted."""
    error = trial.reference.error
    if error is not None:
        tools.note(f"{key}: eager raises {type(error).__name__}: {str(error)[:200]}")
    return error is None
