"""Dtype classes that rules name, and torch's rules of promotion and casting over short dtype names.

`promote` agrees with `torch.result_type`, `can_cast` with `torch.can_cast` (a test holds them together).
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from ..ir.types import DTYPES, FROM_TORCH, ScalarType, TensorType


class DTypes(frozenset[str]):
    """A set of dtype names; `+` and `-` as in rule files."""

    def __add__(self, other: frozenset[str]) -> DTypes:
        return DTypes(self | other)

    def __sub__(self, other: Any) -> DTypes:
        return DTypes(frozenset.__sub__(self, other))


# Dtypes that few operators take: most move them, some compare them or count with them.
BAREBONES, FLOAT8 = DTypes({"u16", "u32", "u64"}), DTypes({"f8e4m3", "f8e5m2"})


def _of(*kinds: str) -> DTypes:
    return DTypes(d.name for d in DTYPES.values() if d.kind in kinds) - BAREBONES - FLOAT8


# What a rule file may write where a dtype is wanted: a class, or the name of one dtype.
CLASSES: dict[str, DTypes] = {
    "stored": DTypes(DTYPES),
    "barebones": BAREBONES,
    "float8": FLOAT8,
    "any": _of("bool", "int", "float", "complex"),
    "int": _of("int"),
    "signed": _of("int") - {"u8"},
    "float": _of("float"),
    "half": DTypes({"f16", "bf16"}),
    "wide": DTypes({"f32", "f64"}),
    "complex": _of("complex"),
    "integral": _of("bool", "int"),
    "inexact": _of("float", "complex"),
    "numeric": _of("int", "float", "complex"),
    "real": _of("bool", "int", "float"),
    **{name: DTypes({name}) for name in DTYPES},
}

Number = bool | int | float | complex
_SCALAR_KIND: dict[type, str] = {bool: "bool", int: "i64", float: "f32", complex: "c64"}
_SCALAR_NAME = {"bool": "bool", "int": "i64", "float": "f32", "complex": "c64"}


@functools.cache
def promote_pair(first: str, second: str) -> str | None:
    """The dtype that two dtypes promote to; None where there is none, or it is not one of ours (complex32)."""
    try:
        return FROM_TORCH.get(torch.promote_types(DTYPES[first].torch_dtype, DTYPES[second].torch_dtype))
    except RuntimeError:  # a barebones dtype, or one of 8 bits, and another
        return None


@functools.cache
def _combine(higher: str | None, lower: str | None) -> str | None:
    """How torch joins the dtype of a category with that of a category of less weight."""
    if higher is None or lower is None:
        return higher or lower
    high, low = DTYPES[higher].kind, DTYPES[lower].kind
    if high == "complex":
        return higher
    if high == "float":
        if low != "complex":
            return higher
        return {"f32": "c64", "f64": "c128", "bf16": "bc32", "f16": "c32"}.get(higher)
    if high == "bool" or low in ("float", "complex"):
        return promote_pair(higher, lower)
    return higher


def promote(*operands: Any) -> str:
    """The dtype that torch computes in for these operands: types of tensors, Python numbers, dtype names.

    A dtype name counts as a tensor with dims. Raises ValueError for a result outside our dtypes.
    """
    found: list[str | None] = [None, None, None]
    for operand in operands:
        for category, dtype in _categories(operand):
            seen = found[category]
            found[category] = dtype if seen is None else promote_pair(seen, dtype)
            if found[category] is None:
                raise ValueError(f"no common dtype of {operands}")
    result = _combine(found[0], _combine(found[1], found[2]))
    if result not in DTYPES:
        raise ValueError(f"no common dtype of {operands}")
    return result


def _categories(operand: Any) -> list[tuple[int, str]]:
    """(category, dtype) of an operand: 0 with dims, 1 of rank 0, 2 a Python number; none for None."""
    if isinstance(operand, TensorType):
        return [(0 if operand.shape else 1, operand.dtype)]
    if isinstance(operand, str):
        return [(0, operand)]
    if isinstance(operand, ScalarType):
        return [(2, _SCALAR_NAME[operand.kind])]
    if isinstance(operand, (tuple, list)):
        return [pair for item in operand for pair in _categories(item)]
    return [] if operand is None else [(2, _SCALAR_KIND[type(operand)])]


@functools.cache
def can_cast(source: str, target: str) -> bool:
    """Whether an in-place or out= result of dtype `source` may be written to `target`."""
    return torch.can_cast(DTYPES[source].torch_dtype, DTYPES[target].torch_dtype)


def writable(source: str, target: str) -> bool:
    """Whether out= of dtype `target` takes a result of dtype `source`.

    Stricter than `can_cast`: several CPU kernels cannot write a real result to a complex tensor.
    """
    return can_cast(source, target) and (DTYPES[target].kind != "complex" or DTYPES[source].kind == "complex")


def floating(operand: Any) -> str:
    """Result dtype of operators that turn integers into the default float."""
    dtype = promote(operand)
    return dtype if DTYPES[dtype].kind in ("float", "complex") else "f32"


def real_of(operand: Any) -> str:
    """The dtype of the real part."""
    return {"c64": "f32", "c128": "f64"}.get(dtype := promote(operand), dtype)


def complex_of(operand: Any) -> str:
    """The complex dtype whose parts have this dtype."""
    return {"f32": "c64", "f64": "c128"}.get(dtype := promote(operand), dtype)


def summed(operand: Any, dtype: str | None = None) -> str:
    """Result dtype of sums and products: integers and bools become i64 unless a dtype is given."""
    found = dtype or promote(operand)
    return "i64" if dtype is None and DTYPES[found].kind in ("bool", "int") else found


def fits(value: Any, dtype: str) -> bool:
    """Whether a Python number can be stored in a tensor of this dtype without torch's overflow error."""
    if isinstance(value, (ScalarType, TensorType)) or value is None:
        return True
    info = DTYPES[dtype]
    if isinstance(value, complex):
        return info.kind == "complex" or (value.imag == 0 and fits(value.real, dtype))
    if info.kind == "bool":
        return True
    if info.kind == "int":
        return _fits_integer(value, info.bits, info.signed)
    limit = float(torch.finfo(info.torch_dtype).max)
    return bool(value != value or (info.infinite and abs(value) == float("inf")) or abs(value) <= limit)


def in_range(value: Any, dtype: str) -> bool:
    """As `fits`, with no negative number for an unsigned dtype."""
    return fits(value, dtype) and (DTYPES[dtype].kind != "int" or DTYPES[dtype].signed or not value < 0)


def _fits_integer(value: float, bits: int, signed: bool) -> bool:
    if value != value or abs(value) == float("inf"):
        return False
    # torch lets a negative integer wrap into an unsigned dtype, within the dtype's width.
    top = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    wraps = 0 if isinstance(value, float) else -top
    bottom = -(2 ** (bits - 1)) if signed else wraps
    return bool(bottom <= value <= top)
