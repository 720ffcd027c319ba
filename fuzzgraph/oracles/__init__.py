"""Oracles, one file each, found by presence (files that start with `_` are shared parts).

An oracle file defines:

    plan(program, book) -> dict | None          engine half: what to look at; None: this oracle says nothing here
    judge(plan, reference, subject, tools) -> list[Failure]     child half: what it saw

and, where it needs other programs than the one that is judged,

    plan_variants(plan, program, book, variants) -> dict | None     the plan completed by variants of the program
    EXPENSIVE = True                                                it costs further compilations
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .. import presence

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program
    from ._variants import Variants

EXPECTING = ("crash", "missed_error")


def names() -> list[str]:
    return sorted(presence.modules(__name__, "oracle"))


def load(name: str) -> ModuleType:
    """The oracle's module. Raises UsageError for an unknown name, FuzzgraphError for a broken file."""
    return presence.module(__name__, "oracle", name)


def expensive() -> frozenset[str]:
    """Those that compile further programs. They are asked where no other oracle found anything."""
    return frozenset(name for name in names() if getattr(load(name), "EXPENSIVE", False))


def cheap() -> tuple[str, ...]:
    costly = expensive()
    return tuple(name for name in names() if name not in costly)


def plan_all(
    program: Program, book: RuleBook | None = None, only: Sequence[str] | None = None, variants: Variants | None = None
) -> dict[str, Any]:
    """Plans of all oracles (or of `only` these) that have something to look at, by name: what `Job.plans` takes.

    `variants` makes those programs that some oracles compare with; without it they do what they can. A program that is
    to raise is judged by the oracles `EXPECTING` alone.
    """
    plans = {}
    for name in names() if only is None else only:
        if program.options.expects_error and name not in EXPECTING:
            continue
        oracle = load(name)
        plan = oracle.plan(program, book)
        if variants is not None and hasattr(oracle, "plan_variants"):
            plan = oracle.plan_variants(plan, program, book, variants(name, program))
        if plan is not None:
            plans[name] = plan
    return plans
