"""One compiled object called with several sets of inputs, each call against eager: stale code, guards that are missing.

A variant calls the program's function with the original inputs and then, as the same compiled object, with a changed
set: other sizes (0 and 1 among them), dtypes, layouts, shared storage, Python scalars, grad mode, contexts. What fails
in the changed call alone too, compiled by itself, is no guard's fault: it is reported as the failure of the oracle that
saw it. It cannot judge programs of which no changed call is valid, nor changes of two things at once, and a variant
that kills the process or runs past the time limit shows only as that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ._failure import Failure
from ._types import Run, Tools
from ._variants import Variant, failures_of, inner_plans, rendered, runs

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program

# Costs further compilations: planned for a share of a campaign's programs.
EXPENSIVE = True
# The key of the program that makes the changed call only.
ALONE = " alone"


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Nothing without variants."""
    return None


def plan_variants(
    found: dict[str, Any] | None, program: Program, book: RuleBook | None, variants: Sequence[Variant]
) -> dict[str, Any] | None:
    """Each variant with the program that makes its changed call alone, and the program's own plans."""
    by_key = {v.key: v for v in variants}
    pairs = [(v, by_key[v.key + ALONE]) for v in variants if v.key + ALONE in by_key]
    if not pairs:
        return None
    made = [
        {"key": v.key, **rendered(v.program, book), "alone": rendered(alone.program, book)} for v, alone in pairs
    ]
    return {"plans": inner_plans(program, book), "variants": made}


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """What each variant shows and the program itself does not: stale code once."""
    found: list[Failure] = []
    ordinary: set[tuple[str, str]] | None = None
    for variant in plan.get("variants", ()):
        trial = tools.other(variant["source"])
        if not runs(variant["key"], trial, tools):
            continue
        seen = failures_of(variant["plans"], trial.reference, trial.subject, trial.tools)
        if seen and ordinary is None:
            ordinary = {_kind(f) for f in failures_of(plan["plans"], reference, subject, tools)}
        seen = [f for f in seen if _kind(f) not in (ordinary or ())]
        if seen:
            found += _attributed(seen, variant, tools)
    return found


def _attributed(seen: list[Failure], variant: dict[str, Any], tools: Tools) -> list[Failure]:
    """One failure as this oracle's, of values if there is one, and those that the changed call shows when it is
    compiled by itself."""
    trial = tools.other(variant["alone"]["source"])
    alone: dict[tuple[str, str], Failure] = {}
    if runs(variant["key"] + ALONE, trial, tools):
        found = failures_of(variant["alone"]["plans"], trial.reference, trial.subject, trial.tools)
        alone = {_kind(f): f for f in found}
    both = [alone[_kind(f)] for f in seen if _kind(f) in alone]
    made = [replace(f, variant=variant["key"] + ALONE, detail=_said(variant["key"] + ALONE, f)) for f in both]
    stale = sorted((f for f in seen if _kind(f) not in alone), key=lambda f: f.oracle != "value")
    for failure in stale[:1]:
        detail = _said(variant["key"], failure)
        made.append(replace(failure, oracle="guard", variant=variant["key"], detail=detail))
    return made


def _kind(failure: Failure) -> tuple[str, str]:
    return failure.oracle, failure.kind


def _said(key: str, failure: Failure) -> str:
    return f"in the variant {key!r} ({failure.oracle} oracle): {failure.detail}"
