"""FreshSource: an operand source that makes every operand anew."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import torch.fx as fx

from ..ir.builder import Builder, FunctionBuilder
from ..ir.nested import code_of
from ..ir.types import DTYPES, FunctionType, TensorType, Type, contiguous_strides, tensor
from ..ir.values import VALUE_KINDS, Values, problem
from .model import Frame
from .wants import Want

# Narrow integers and bool are frequent: they take other paths in the compiler, and tests of it are few there.
DTYPE_WEIGHTS = {
    "bool": 2.0, "u8": 2.0, "i8": 1.5, "i16": 2.0, "i32": 1.0, "i64": 2.0,
    "u16": 0.4, "u32": 0.3, "u64": 0.3, "f8e4m3": 0.4, "f8e5m2": 0.4, "f16": 1.0, "bf16": 1.5,
    "f32": 3.0, "f64": 1.5, "c64": 1.0, "c128": 0.5,
}  # fmt: skip
DRAWS = 24


@dataclass(frozen=True)
class Fresh:
    """An operand that exists only as a type and a distribution of values."""

    type: TensorType
    values: Values


class FreshSource:
    """Makes an operand for any want: random dtype, small shape, odd strides at times. Equal rng states give equal
    operands."""

    def tensor(self, want: Want, rng: Random) -> tuple[Fresh, TensorType] | None:
        names = sorted(want.dtypes)
        # Only the storage of a dense tensor holds each value of a permutation exactly once.
        dense = want.values is not None and want.values.kind == "unique"
        for _ in range(DRAWS):
            dtype = rng.choices(names, [DTYPE_WEIGHTS[n] for n in names])[0]
            shape = want.shape.draw(rng)
            stride, offset = draw_layout(shape, rng, want.mutable)
            if dense:
                stride, offset = contiguous_strides(shape), 0
            found = TensorType(dtype, shape, stride, offset)
            if want.problem(found) is None:
                values = draw_values(dtype, rng) if want.values is None else want.values.draw(dtype, rng)
                return Fresh(found, values), found
        return None

    def function(self, frame: Frame, rng: Random) -> FunctionType:
        """A function that does the least that the frame asks for."""
        b = Builder(None)
        f = b.function("f", [(f"p{i}", t) for i, t in enumerate(frame.params)])
        inside = Inside(b, f)
        wanted = frame.results
        if wanted is None:
            first = next(t for t in frame.params if isinstance(t, TensorType))
            wanted = (tensor(first.dtype, first.shape),)
        f.returns(frame.finish(inside, f.placeholders, [frame.plain(inside, t) for t in wanted]))
        return FunctionType(code_of(b.functions, "f"))


class Inside:
    """`model.Inside` over a function under construction."""

    def __init__(self, b: Builder, f: FunctionBuilder) -> None:
        self.b, self.f = b, f

    def call(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any], kind: Type) -> fx.Node:
        return self.f.op(op, args, kwargs, type=kind)


def draw_layout(shape: tuple[int, ...], rng: Random, packed: bool) -> tuple[tuple[int, ...], int]:
    """Strides and offset: contiguous, permuted, with gaps, or (unless `packed`) expanded."""
    dense = contiguous_strides(shape)
    roll = rng.random()
    offset = rng.choice((0, 0, 0, 0, 1, 3))
    if roll < 0.55 or not shape:
        return dense, offset if roll < 0.1 else 0
    if roll < 0.75:
        return _permuted(shape, rng), offset
    if roll < 0.9 or packed:
        return tuple(s * 2 for s in dense), offset
    return tuple(0 if rng.random() < 0.5 else s for s in dense), offset


def _permuted(shape: tuple[int, ...], rng: Random) -> tuple[int, ...]:
    order = rng.sample(range(len(shape)), len(shape))
    packed = contiguous_strides(tuple(shape[d] for d in order))
    strides = [0] * len(shape)
    for dim, stride in zip(order, packed, strict=True):
        strides[dim] = stride
    return tuple(strides)


def draw_values(dtype: str, rng: Random) -> Values:
    """A value distribution that makes sense for the dtype."""
    fitting = [k for k in VALUE_KINDS if k in ("normal", "ints", "bools", "edge", "ties")]
    fitting = [k for k in fitting if DTYPES[dtype].kind in VALUE_KINDS[k].kinds]
    values = Values(rng.choice(fitting), (), rng.getrandbits(16))
    assert problem(values, dtype) is None
    return values
