"""Eager runs, the compiled program raises. (What ends the whole process, the watchdog reports as this oracle's.)"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._exceptions import raised
from ._failure import Failure
from ._types import Run, Tools

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Every program that runs in eager should run compiled. One that is made to raise may raise, and not die."""
    return {"exceptions": not program.options.expects_error}


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """The exception, with the stage it comes from, its cause chain and its innermost torch frames."""
    if subject.error is None or not plan.get("exceptions", True):
        return []
    return [failure(subject.error)]


def failure(error: BaseException, kind: str = "exception") -> Failure:
    """An exception as a failure of this oracle."""
    return raised("crash", error, kind=kind)
