"""Shapes and memory layouts of inputs: sizes, strides, offsets."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from ..ir.types import contiguous_strides
from .profile import pick

Shape = tuple[int, ...]
# Strides and offset.
Layout = tuple[Shape, int]

# 16 and 32 elements fill a vector register; one more, one less and two more need the tail loop.
SIZES = (
    (0, 3), (1, 12), (2, 12), (3, 14), (4, 8), (5, 9), (7, 5), (8, 12), (15, 1), (16, 6), (17, 5), (31, 2), (32, 2),
    (33, 4), (63, 1), (64, 3), (66, 2),
)  # fmt: skip
# Past one chunk of the cascade sum (4,096) and past one block of a parallel loop.
LONG_SIZES = ((129, 2), (1025, 2), (4097, 1))
RANKS = ((0, 6), (1, 27), (2, 34), (3, 18), (4, 13), (5, 3))
MAX_ELEMENTS = 8192


def draw_shape(rng: Random) -> Shape:
    """A shape of rank 0 to 5 with at most MAX_ELEMENTS elements."""
    rank = pick(RANKS, rng)
    if rank == 1 and rng.random() < 0.08:
        return (pick(LONG_SIZES, rng),)
    shape: list[int] = []
    for _ in range(rank):
        size = pick(SIZES, rng)
        while size * math.prod(shape) > MAX_ELEMENTS:
            size //= 2
        shape.append(size)
    return tuple(shape)


def permuted(shape: Shape, order: list[int]) -> Shape:
    """Dense strides with the dims in this order, outermost first."""
    packed = contiguous_strides(tuple(shape[d] for d in order))
    strides = [0] * len(shape)
    for dim, stride in zip(order, packed, strict=True):
        strides[dim] = stride
    return tuple(strides)


def _contiguous(shape: Shape, rng: Random) -> Layout:
    return contiguous_strides(shape), 0


def _offset(shape: Shape, rng: Random) -> Layout:
    return contiguous_strides(shape), rng.choice((1, 2, 3, 7, 16))


def _permuted(shape: Shape, rng: Random) -> Layout:
    order = list(range(len(shape)))
    rng.shuffle(order)
    return permuted(shape, order), 0


def _transposed(shape: Shape, rng: Random) -> Layout:
    if len(shape) < 2:
        return _sliced(shape, rng)
    order = list(range(len(shape)))
    order[-1], order[-2] = order[-2], order[-1]
    return permuted(shape, order), 0


def _channels_last(shape: Shape, rng: Random) -> Layout:
    if len(shape) not in (4, 5):
        return _transposed(shape, rng)
    return permuted(shape, [0, *range(2, len(shape)), 1]), 0


def _sliced(shape: Shape, rng: Random) -> Layout:
    """A slice of a larger dense tensor: steps and gaps in any dim, an offset."""
    order = list(range(len(shape)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    strides = [1] * len(shape)
    unit, offset = 1, 0
    for dim in reversed(order):
        step = rng.choice((1, 1, 2, 3))
        strides[dim] = unit * step
        start = rng.choice((0, 0, 1, 2))
        offset += start * unit
        unit *= max(shape[dim], 1) * step + start + rng.choice((0, 0, 1))
    return tuple(strides), offset


def _size_one(shape: Shape, rng: Random) -> Layout:
    """Any strides where a size of 1 makes them meaningless."""
    dense = contiguous_strides(shape)
    return tuple(rng.choice((0, 1, 5, 64)) if n == 1 else s for n, s in zip(shape, dense, strict=True)), 0


def _expanded(shape: Shape, rng: Random) -> Layout:
    """Stride 0 in one dim or more, the rest dense."""
    if not shape:
        return (), 0
    chosen = {rng.randrange(len(shape))} | {d for d in range(len(shape)) if rng.random() < 0.3}
    dense = contiguous_strides(tuple(1 if d in chosen else n for d, n in enumerate(shape)))
    return tuple(0 if d in chosen else s for d, s in enumerate(dense)), 0


def _windows(shape: Shape, rng: Random) -> Layout:
    """Overlapping windows, as unfold and as_strided make them."""
    if not shape:
        return (), 0
    strides, step = [1] * len(shape), 1
    for dim in reversed(range(len(shape) - 1)):
        step = max(1, step * rng.choice((1, 1, 2, max(shape[dim + 1] - 1, 1))))
        strides[dim] = step
    return tuple(strides), rng.choice((0, 0, 1))


LAYOUTS: dict[str, Callable[[Shape, Random], Layout]] = {
    "contiguous": _contiguous, "offset": _offset, "permuted": _permuted, "transposed": _transposed,
    "channels_last": _channels_last, "sliced": _sliced, "size_one": _size_one, "expanded": _expanded,
    "windows": _windows,
}  # fmt: skip
# Those in which two indices may reach one element.
OVERLAPPING = frozenset({"expanded", "windows"})
WEIGHTS = (
    ("contiguous", 50.0), ("offset", 4.0), ("permuted", 8.0), ("transposed", 8.0), ("channels_last", 5.0),
    ("sliced", 11.0), ("size_one", 4.0), ("expanded", 6.0), ("windows", 4.0),
)  # fmt: skip

# Few tensors have the five dims of channels_last_3d.
RARE_RANK = 3.0


def draw_layout(shape: Shape, rng: Random, overlap: bool = True, plain: bool = True) -> Layout:
    """Strides and offset for a shape. Without `overlap` each element has one index; without `plain`, not contiguous."""
    table = [
        (n, w * (RARE_RANK if n == "channels_last" and len(shape) == 5 else 1)) for n, w in WEIGHTS
        if (overlap or n not in OVERLAPPING) and (plain or n != "contiguous")
    ]  # fmt: skip
    return LAYOUTS[pick(table, rng)](shape, rng)


def similar_strides(shape: Shape, stride: Shape, new: Shape) -> Shape:
    """Strides for another shape of equal rank: dims in the same order of memory, expanded dims stay expanded."""
    order = sorted(range(len(shape)), key=lambda d: (-stride[d], d))
    packed = permuted(tuple(1 if s == 0 and n != 1 else m for m, n, s in zip(new, shape, stride, strict=True)), order)
    return tuple(0 if s == 0 and n != 1 else p for p, n, s in zip(packed, shape, stride, strict=True))
