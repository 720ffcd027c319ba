"""Calls on what depends on data: each is held against a few of the sizes and numbers that it may turn out to be.

Rules speak of sizes as numbers. An operand without known sizes is accepted where it would be with any: none, one and
more elements, and never equal to another unknown size. An unknown integer among sizes or bounds counts likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..ir.types import ScalarType, SequenceType, TensorType, UnsizedType, tensor

SIZES = (0, 1, 3)
NUMBERS = (-2, 0, 1, 5)
Call = tuple[tuple[Any, ...], dict[str, Any]]


def stand_ins(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Call]:
    """The calls with known sizes that stand for one; itself alone where nothing in it depends on data."""
    if not is_unsized(args) and not is_unsized(kwargs):
        return [(args, dict(kwargs))]
    numbers = NUMBERS if any(map(_has_number, (*args, *kwargs.values()))) else (0,)
    made = []
    for size in SIZES:
        for number in numbers:
            filled = _Filling(size, number)
            made.append((tuple(map(filled, args)), {k: filled(v) for k, v in kwargs.items()}))
    return made


def is_unsized(value: Any) -> bool:
    """Whether a size among types depends on data, or a number in a tuple or slice does."""
    if isinstance(value, dict):
        return any(map(is_unsized, value.values()))
    if isinstance(value, tuple | list):
        return any(isinstance(v, UnsizedType) or is_unsized(v) or _has_number(v) for v in value)
    return isinstance(value, UnsizedType) or _has_number(value)


def _has_number(value: Any) -> bool:
    """Whether a tuple or a slice holds an unknown integer."""
    return any(_is_number(v) or _has_number(v) for v in _parts(value))


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, slice):
        yield from (value.start, value.stop, value.step)
    elif isinstance(value, SequenceType):
        yield from value.items
    elif isinstance(value, tuple | list):
        yield from value


def _is_number(value: Any) -> bool:
    return isinstance(value, ScalarType) and value.kind == "int" and value.value is None


class _Filling:
    """Puts sizes and numbers in: each unknown size is one more than the one before."""

    def __init__(self, size: int, number: int) -> None:
        self.size, self.number = size, number

    def __call__(self, value: Any, inside: bool = False) -> Any:
        if isinstance(value, UnsizedType):
            return self._tensor(value)
        if inside and _is_number(value):
            return self.number
        if isinstance(value, slice):
            return slice(*(self(v, True) for v in _parts(value)))
        if isinstance(value, SequenceType):
            return SequenceType(value.kind, tuple(self(v, True) for v in value.items))
        return type(value)(self(v, True) for v in value) if isinstance(value, tuple | list) else value

    def _tensor(self, value: UnsizedType) -> TensorType:
        shape = []
        for n in value.shape:
            shape.append(self.size if n is None else n)
            self.size += n is None
        made = tensor(value.dtype, tuple(shape))
        return made.with_(device=value.device, requires_grad=value.requires_grad, alias=value.alias)
