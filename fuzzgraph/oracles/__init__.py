"""Oracles, one file each, found by presence (files that start with `_` are shared parts).

An oracle file defines:

    plan(program, book) -> dict | None          engine half: what to look at; None: this oracle says nothing here
    judge(plan, reference, subject, tools) -> list[Failure]     child half: what it saw
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program


def names() -> list[str]:
    folder = Path(__file__).parent
    return sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_"))


@cache
def load(name: str) -> ModuleType:
    """The oracle's module. Raises ModuleNotFoundError for an unknown name."""
    return importlib.import_module(f"{__name__}.{name}")


def plan_all(program: Program, book: RuleBook | None = None, only: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Plans of all oracles that have something to look at, by name: what `Job.plans` takes."""
    plans = {}
    for name in names() if only is None else only:
        plan = load(name).plan(program, book)
        if plan is not None:
            plans[name] = plan
    return plans
