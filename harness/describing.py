"""What a value that an operator gave is, as a Type of programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..ir.types import FROM_TORCH, AnyType, NoneType, ScalarType, SequenceType, TensorType, Type


def describe(value: Any, alias_of: Callable[[torch.Tensor], str | None]) -> Type:
    """The value's Type; `alias_of` is asked for the alias of each tensor in it, in flattened order.

    Raises TypeError for tensors that programs do not have.
    """
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.dtype not in FROM_TORCH:
            raise TypeError(f"a result is {value.layout} {value.dtype}")
        return TensorType(
            FROM_TORCH[value.dtype], tuple(map(int, value.shape)), tuple(map(int, value.stride())),
            int(value.storage_offset()), value.device.type, value.requires_grad, alias_of(value),
        )  # fmt: skip
    if isinstance(value, tuple | list):
        kind = "list" if isinstance(value, list) else "tuple"
        return SequenceType(kind, tuple(describe(v, alias_of) for v in value))  # type: ignore[arg-type]
    if value is None:
        return NoneType()
    for scalar in (bool, int, float, complex, str):
        if isinstance(value, scalar):
            return ScalarType(scalar.__name__)  # type: ignore[arg-type]
    return AnyType()
