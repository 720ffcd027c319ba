"""Eager raises: the compiled program should too, with the same type of exception.

It has something to say only of programs that are meant to raise (`Job.expects_error`): another program whose reference
raises is invalid. It cannot judge messages, nor programs that raise for lack of memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._exceptions import cause_chain, describe
from ._failure import Failure
from ._types import Run, Tools

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program


# What Dynamo makes of an operator's exception on fake tensors.
OPERATOR_ERROR = "TorchRuntimeError"


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Nothing to choose. None for a program that is not meant to raise. (`exact` in a plan asks for the very type of
    eager's exception: who catches that one lets a subclass through, but not one that the compiler wraps it in.)"""
    return {} if program.options.expects_error else None


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """missed (the compiled program returns) or error_type (it raises an exception of another type)."""
    if reference.error is None:
        return []
    expected = type(reference.error)
    if subject.error is None:
        text = f"eager raises {expected.__name__}: {str(reference.error)[:500]}"
        return [Failure("missed_error", "missed", "run", f"{expected.__name__} is not raised", text)]
    # The compiler wraps what an operator raised on fake tensors; what it quotes or chains counts.
    exact = bool(plan.get("exact"))
    if exact and type(subject.error) is expected:
        return []
    chain = [] if exact else cause_chain(subject.error)
    if any(isinstance(e, expected) for e in chain):
        return []
    if any(f"{expected.__name__}(" in str(e) for e in chain):
        return []
    # An operator refuses on real tensors and on fake ones; which kind of RuntimeError its kernels raise is theirs.
    if issubclass(expected, RuntimeError) and any(type(e).__name__ == OPERATOR_ERROR for e in chain):
        return []
    d = describe(subject.error)
    if not exact and d.exc_type == expected.__name__:  # a lowering's, which is quoted only
        return []
    became = type(subject.error).__name__ if exact else d.exc_type
    detail = f"eager raises {expected.__name__}: {str(reference.error)[:300]}; compiled: {became}: {d.text[:500]}"
    message = f"{expected.__name__} became {became}"
    return [Failure("missed_error", "error_type", d.stage, message, detail, d.frames, d.exc_type, d.causes)]
