"""What a value that an operator gave is, as a Type of programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..ir.types import (
    FROM_TORCH,
    AnyType,
    NoneType,
    ScalarType,
    SequenceType,
    TensorType,
    Type,
    UnsizedType,
    scalar,
)

# Numbers that depend on data, by the kind of Python's that they stand for.
_SYMBOLS = ((torch.SymBool, "bool"), (torch.SymInt, "int"), (torch.SymFloat, "float"))


def describe(value: Any, alias_of: Callable[[torch.Tensor], str | None], known: bool = False) -> Type:
    """The value's Type; `alias_of` is asked for the alias of each tensor in it, in flattened order. `known`: numbers
    follow from types alone, and the Type says which.

    Raises TypeError for tensors that programs do not have.
    """
    if isinstance(value, torch.Tensor):
        return _tensor(value, alias_of)
    if isinstance(value, tuple | list):
        kind = "list" if isinstance(value, list) else "tuple"
        return SequenceType(kind, tuple(describe(v, alias_of, known) for v in value))  # type: ignore[arg-type]
    if value is None:
        return NoneType()
    for symbol, name in _SYMBOLS:
        if isinstance(value, symbol):
            return ScalarType(name)  # type: ignore[arg-type]
    if isinstance(value, bool | int | float | complex | str):
        return scalar(value) if known else ScalarType(scalar(value).kind)
    return AnyType()


def _tensor(value: torch.Tensor, alias_of: Callable[[torch.Tensor], str | None]) -> Type:
    if value.layout != torch.strided or value.dtype not in FROM_TORCH:
        raise TypeError(f"a result is {value.layout} {value.dtype}")
    dtype, alias, sizes = FROM_TORCH[value.dtype], alias_of(value), tuple(map(size, value.shape))
    if None in sizes:
        return UnsizedType(dtype, sizes, value.device.type, value.requires_grad, alias)
    return TensorType(
        dtype, tuple(map(int, value.shape)), tuple(map(int, value.stride())), int(value.storage_offset()),
        value.device.type, value.requires_grad, alias,
    )  # fmt: skip


def size(n: Any) -> int | None:
    """A size, or None for a symbol of which no value is known."""
    return None if isinstance(n, torch.SymInt) and not n.node.has_hint() else int(n)
