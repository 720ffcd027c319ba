"""Types of the values in a program: what a node is known to produce.

All are frozen and hashable. Dtypes are short strings (`f32`), sizes and strides are in elements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import torch


@dataclass(frozen=True)
class DTypeInfo:
    """`kind` orders promotion: bool < int < float < complex. `bits` is the width of one element."""

    name: str
    kind: Literal["bool", "int", "float", "complex"]
    bits: int
    signed: bool
    torch_dtype: torch.dtype

    @property
    def infinite(self) -> bool:
        """Whether infinities are among its values."""
        return self.kind in ("float", "complex") and self.torch_dtype != torch.float8_e4m3fn


DTYPES: dict[str, DTypeInfo] = {
    d.name: d
    for d in (
        DTypeInfo("bool", "bool", 8, False, torch.bool),
        DTypeInfo("u8", "int", 8, False, torch.uint8),
        DTypeInfo("i8", "int", 8, True, torch.int8),
        DTypeInfo("i16", "int", 16, True, torch.int16),
        DTypeInfo("i32", "int", 32, True, torch.int32),
        DTypeInfo("i64", "int", 64, True, torch.int64),
        DTypeInfo("u16", "int", 16, False, torch.uint16),
        DTypeInfo("u32", "int", 32, False, torch.uint32),
        DTypeInfo("u64", "int", 64, False, torch.uint64),
        DTypeInfo("f8e4m3", "float", 8, True, torch.float8_e4m3fn),
        DTypeInfo("f8e5m2", "float", 8, True, torch.float8_e5m2),
        DTypeInfo("f16", "float", 16, True, torch.float16),
        DTypeInfo("bf16", "float", 16, True, torch.bfloat16),
        DTypeInfo("f32", "float", 32, True, torch.float32),
        DTypeInfo("f64", "float", 64, True, torch.float64),
        DTypeInfo("c64", "complex", 64, True, torch.complex64),
        DTypeInfo("c128", "complex", 128, True, torch.complex128),
    )
}
# Integers of which torch can make a size lie below.
LARGEST = 2**62
FROM_TORCH: dict[torch.dtype, str] = {d.torch_dtype: d.name for d in DTYPES.values()}


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides as torch computes them: a size of 0 counts as 1."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class _Tensor:
    """What the types of tensors have in common, however much of the sizes they know."""

    dtype: str
    shape: tuple[int | None, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def info(self) -> DTypeInfo:
        return DTYPES[self.dtype]

    @property
    def torch_dtype(self) -> torch.dtype:
        return DTYPES[self.dtype].torch_dtype


@dataclass(frozen=True)
class TensorType(_Tensor):
    """A strided tensor.

    `alias` names the root value (an input, a constant or the node that allocated it) whose storage this one
    shares; None for a value with storage of its own.
    """

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0
    device: str = "cpu"
    requires_grad: bool = False
    alias: str | None = None

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def is_contiguous(self) -> bool:
        """As `Tensor.is_contiguous()`: strides of dims of size 1 do not matter, an empty tensor is contiguous."""
        if self.numel == 0:
            return True
        dense = contiguous_strides(self.shape)
        return all(n == 1 or s == d for n, s, d in zip(self.shape, self.stride, dense, strict=True))

    @property
    def has_overlap(self) -> bool:
        """True where two indices may reach one element, expanded dims included (sufficient test: never False
        for a tensor with overlap; may be True for exotic interleaved strides)."""
        dims = sorted((s, n) for s, n in zip(self.stride, self.shape, strict=True) if n > 1)
        if self.numel == 0:
            return False
        reach = 0
        for step, size in dims:
            if step <= reach:
                return True
            reach += step * (size - 1)
        return False

    @property
    def extent(self) -> int:
        """Elements of storage needed, offset included."""
        if self.numel == 0:
            return self.offset
        return self.offset + 1 + sum(s * (n - 1) for s, n in zip(self.stride, self.shape, strict=True))

    def with_(self, **changes: object) -> TensorType:
        return replace(self, **changes)  # type: ignore[arg-type]


def tensor(dtype: str, shape: tuple[int, ...], stride: tuple[int, ...] | None = None) -> TensorType:
    """A tensor type with storage of its own, contiguous unless strides are given."""
    return TensorType(dtype, shape, contiguous_strides(shape) if stride is None else stride)


@dataclass(frozen=True)
class UnsizedType(_Tensor):
    """A tensor some of whose sizes depend on data: those are None in `shape`. Strides are not known either."""

    dtype: str
    shape: tuple[int | None, ...]
    device: str = "cpu"
    requires_grad: bool = False
    alias: str | None = None

    def with_(self, **changes: object) -> UnsizedType:
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ScalarType:
    """A Python scalar (int, float, bool, complex, str).

    `value` is the number where it follows from types alone, as a size does: it changes with them. None where the
    program does not fix it: it is of data, or each call of the script passes another.
    """

    kind: Literal["int", "float", "bool", "complex", "str"]
    value: bool | int | float | None = None


def scalar(value: bool | int | float | complex | str) -> ScalarType:
    """The type of a Python scalar, with its value where that is a number that types can hold."""
    kind = type(value).__name__
    known = isinstance(value, bool | int) and abs(value) < LARGEST
    known = known or (isinstance(value, float) and math.isfinite(value))
    return ScalarType(kind, value if known else None)  # type: ignore[arg-type]


@dataclass(frozen=True)
class SequenceType:
    """A Python tuple or list of typed items."""

    kind: Literal["tuple", "list"]
    items: tuple[Type, ...]


@dataclass(frozen=True)
class NoneType:
    """Python's None."""


@dataclass(frozen=True)
class AnyType:
    """An opaque Python value: what verbatim source and Python state yield."""


@dataclass(frozen=True)
class FunctionType:
    """A function of the program as an operand. `code` is for inference alone (`nested.code_of`): a node's type has
    none."""

    code: bytes = field(default=b"", repr=False)


Type = TensorType | UnsizedType | ScalarType | SequenceType | NoneType | AnyType | FunctionType
