"""Random input specs: dtype, shape, memory layout, values."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from random import Random

from ..ir.program import InputSpec
from ..ir.types import DTYPES, TensorType, contiguous_strides
from ..ir.values import VALUE_KINDS, Values, problem
from .layout import draw_layout
from .profile import pick

# Weighted to breadth: narrow integers and bool take other paths in the compiler than f32, and few tests cover them.
DTYPE_WEIGHTS: dict[str, float] = {
    "f32": 22, "i64": 10, "i16": 9, "bool": 8, "u8": 8, "f64": 8, "bf16": 8, "f16": 7, "i32": 7, "i8": 7, "c64": 4,
    "c128": 2, "u16": 7, "u32": 7, "u64": 5, "f8e4m3": 5, "f8e5m2": 5,
}  # fmt: skip
FLOAT_EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, 65504.0, float("inf"), float("-inf"), float("nan"))
INT_EDGES = (0, 1, -1, 2, 7, 127, -128)


def draw_dtype(allowed: Collection[str], rng: Random) -> str:
    """One of the allowed dtypes, by weight."""
    names = [name for name in DTYPE_WEIGHTS if name in allowed]
    return rng.choices(names, [DTYPE_WEIGHTS[name] for name in names])[0]


def _full(dtype: str, rng: Random) -> tuple[int | float, ...]:
    kind = DTYPES[dtype].kind
    if kind == "bool":
        return (rng.randrange(2),)
    if kind == "int":
        return (rng.choice([v for v in INT_EDGES if v >= 0 or DTYPES[dtype].signed]),)
    return (rng.choice(FLOAT_EDGES),)


def _uniform(dtype: str, rng: Random) -> tuple[float, ...]:
    return rng.choice(((0.0, 1.0), (-2.0, 2.0), (0.5, 4.0), (-100.0, 100.0), (1e-3, 1e3), (1.0, 1.5)))


def _ints(dtype: str, rng: Random) -> tuple[int, ...]:
    low, high = rng.choice(((-8, 8), (-3, 3), (0, 3), (1, 9), (-100, 100), (0, 255), (-2, 0)))
    return (low, high) if DTYPES[dtype].kind != "int" or DTYPES[dtype].signed else (max(low, 0), max(high, 5))


# How the parameters of a distribution are drawn; those left out keep their defaults.
PARAMS: dict[str, Callable[[str, Random], tuple[int | float, ...]]] = {
    "full": _full,
    "uniform": _uniform,
    "ints": _ints,
    "normal": lambda dtype, rng: rng.choice(((), (), (0.0, 10.0), (5.0, 1.0))),
    "bools": lambda dtype, rng: rng.choice(((), (), (0.0,), (1.0,), (0.1,))),
    "ties": lambda dtype, rng: (rng.choice((1, 2, 3)),),
    "edge": lambda dtype, rng: (rng.choice((0.2, 0.5, 1.0)),),
    "arange": lambda dtype, rng: rng.choice(((0, 1), (1, 1), (-3, 1), (0, 2), (9, -1))),
}
KIND_WEIGHTS: dict[str, float] = {
    "normal": 45, "ints": 16, "edge": 13, "uniform": 9, "ties": 6, "full": 5, "arange": 5, "bools": 4, "permutation": 2,
}  # fmt: skip


def draw_values(dtype: str, rng: Random) -> Values:
    """A value distribution that makes sense for the dtype, edge values in about one of eight."""
    kind = DTYPES[dtype].kind
    table = [(name, w) for name, w in KIND_WEIGHTS.items() if kind in VALUE_KINDS[name].kinds]
    chosen = pick(table, rng)
    params = PARAMS[chosen](dtype, rng) if chosen in PARAMS else ()
    if chosen == "arange" and not DTYPES[dtype].signed:
        params = ()
    return Values(chosen, params, rng.getrandbits(16))


def draw_type(dtype: str, shape: tuple[int, ...], rng: Random, overlap: bool = True) -> TensorType:
    """A type with a random layout; without `overlap`, no two indices reach one element."""
    stride, offset = draw_layout(shape, rng, overlap)
    return TensorType(dtype, shape, stride, offset)


def with_dtype(spec: InputSpec, dtype: str, rng: Random) -> InputSpec:
    """The input with another dtype; the distribution of its values is kept where it fits."""
    grad = spec.type.requires_grad and DTYPES[dtype].kind in ("float", "complex")
    values = spec.values if problem(spec.values, dtype) is None else draw_values(dtype, rng)
    return replace(spec, type=spec.type.with_(dtype=dtype, requires_grad=grad), values=values)


def view_into(base: InputSpec, shape: tuple[int, ...], rng: Random) -> TensorType | None:
    """The type of a view of another input's storage, None where the storage is too small."""
    room = max(base.storage or 0, base.type.extent)
    if rng.random() < 0.3 and base.type.shape == shape:
        return base.type.with_(requires_grad=False, alias=None)
    found = TensorType(base.type.dtype, shape, contiguous_strides(shape))
    if not found.numel or found.extent > room:
        return None
    last = room - found.extent
    return found.with_(offset=rng.choice((0, min(base.type.offset, last), rng.randint(0, last))))
