"""Wrong metadata of tensors: dtype, shape, strides, device, layout, requires_grad, conj and neg bits, and whether the
memory is as large as they say.

It looks at outputs, inputs after the run and states; strides only where a program can see them (dims of more than one
element). It cannot judge the strides of gradients, of which autograd promises nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from ..ir.program import type_of
from ..ir.types import UnsizedType
from ._failure import Failure
from ._numeric import beyond
from ._snapshot import Key, show, skipped, table
from ._taint import taint
from ._types import Run, Tools

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Metadata does not depend on values, but for sizes that depend on data: those are left out where it is tainted."""
    unsized = any(isinstance(type_of(node), UnsizedType) for node in program.nodes())
    return {"outputs": taint(program, book).outputs} if unsized else {}


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure per kind: the first place that shows it."""
    if subject.error is not None:
        return []
    found: dict[str, Failure] = {}
    theirs = table(subject)
    for key, expected in table(reference).items():
        actual = theirs.get(key)
        if key[0] == "output" and skipped(key, plan):
            continue
        if key[0] != "gradient" and isinstance(expected, torch.Tensor) and isinstance(actual, torch.Tensor):
            for failure in differences(key, expected, actual):
                found.setdefault(failure.kind, failure)
    return list(found.values())


def differences(key: Key, a: torch.Tensor, b: torch.Tensor) -> Iterator[Failure]:
    """What a program can see of a tensor but its values."""
    where = show(key)
    kinds: list[tuple[str, Any, Any]] = [
        ("dtype", a.dtype, b.dtype), ("device", a.device.type, b.device.type), ("layout", a.layout, b.layout),
    ]  # fmt: skip
    for kind, x, y in kinds:
        if x != y:
            yield _failure(kind, f"{x} became {y}", f"{where}: eager {x}, compiled {y}")
            return
    if a.shape != b.shape:
        yield _failure("shape", "shapes differ", f"{where}: eager {list(a.shape)}, compiled {list(b.shape)}")
        return
    if a.layout == torch.strided and beyond(b) and not beyond(a):
        detail = f"{where}: shape {list(b.shape)}, strides {list(b.stride())}, offset {b.storage_offset()}"
        detail += f" in {b.untyped_storage().nbytes()} bytes"
        yield _failure("memory", "a tensor reaches beyond its memory", detail)
        return
    if a.layout == torch.strided and _strides(a) != _strides(b):
        detail = f"{where}, shape {list(a.shape)}: eager {list(a.stride())}, compiled {list(b.stride())}"
        yield _failure("stride", "strides differ", detail)
    bits = [
        ("requires_grad", a.requires_grad, b.requires_grad), ("conj", a.is_conj(), b.is_conj()),
        ("neg", a.is_neg(), b.is_neg()),
    ]  # fmt: skip
    for kind, x, y in bits:
        if x != y:
            yield _failure(kind, f"{kind} {x} became {y}", f"{where}: eager {x}, compiled {y}")


def _strides(t: torch.Tensor) -> list[int]:
    """Strides that matter: of dims with more than one element, of tensors with any."""
    return [s for s, n in zip(t.stride(), t.shape) if n > 1] if t.numel() else []


def _failure(kind: str, message: str, detail: str) -> Failure:
    return Failure("metadata", kind, "run", message, detail)
