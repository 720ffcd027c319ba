"""FakeTensor propagation against real tensors: dtype, shape and strides of outputs, and valid programs that it refuses.

It runs no compiler, so that what it finds is a bug of a meta kernel or a decomposition. It cannot judge programs whose
values decide what happens, nor what backward does, nor operators that call functions: loops among them need sizes that
are not known. Forms that need real tensors are none of its business.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from ..ir.nested import called_by_operators
from ..render.forms import is_concrete
from ._exceptions import describe
from ._failure import Failure
from ._snapshot import table
from ._types import Run, Tools
from .metadata import differences

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program

# FakeTensors carry no conj and neg bits through all kernels, and whether they require grad is autograd's business.
KINDS = ("dtype", "shape", "stride", "device", "layout")


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Nothing to choose."""
    return None if called_by_operators(program.nodes()) or is_concrete(program) else {}


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure per kind (dtype, shape, stride, ..., exception), worded as the metadata oracle's."""
    fake = tools.fake()
    if fake is None:
        return []
    if fake.error is not None:
        d = describe(fake.error)
        detail = f"on FakeTensors only: {d.text}"
        return [Failure("fake", "exception", "fake", d.message, detail, d.frames, d.exc_type, d.causes)]
    found: dict[str, Failure] = {}
    theirs = table(fake)
    for key, expected in table(reference).items():
        actual = theirs.get(key)
        if key[0] != "output" or not isinstance(actual, torch.Tensor):
            continue
        if isinstance(expected, torch.Tensor) and not expected.is_quantized:  # there are no quantized FakeTensors
            for failure in differences(key, expected, actual):
                if failure.kind in KINDS:
                    detail = failure.detail.replace("compiled", "fake")
                    found.setdefault(failure.kind, replace(failure, oracle="fake", stage="fake", detail=detail))
    return list(found.values())
