"""The expression that makes an input: its storage filled by a value distribution, then shaped."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..errors import ProgramError
from ..ir.types import DTYPES
from ..ir.values import INTEGER_RANGE, VALUE_KINDS, Values
from .edges import edge_values
from .literals import literal, wrapped

# Above this many elements `data` is written as a repeated pattern.
MAX_LISTED = 64


def fill(values: Values, dtype: str, shape: tuple[int, ...]) -> str:
    """An expression for a dense tensor of this dtype and shape with these values, with storage of its own.

    It needs `torch` and the functions of `helpers`. Raises ProgramError for an unknown kind.
    """
    maker = _MAKERS.get(values.kind)
    if maker is None:
        raise ProgramError(f"unknown value distribution {values.kind!r}", hint="one of " + ", ".join(VALUE_KINDS))
    if math.prod(shape) == 0:
        # Results of arithmetic on empty tensors do not keep contiguous strides.
        return f"torch.empty({literal(shape)}, dtype={DTYPES[dtype].torch_dtype})"
    kind, params = VALUE_KINDS[values.kind], values.params
    if values.kind != "data":
        params = (*params, *kind.defaults[len(params) :])
    return maker(dtype, shape, params, values.seed)


def fitted(value: Any, dtype: str) -> Any:
    """The value that a tensor of this dtype can be made of: whole, clipped or infinite where it does not fit."""
    kind = DTYPES[dtype].kind
    if isinstance(value, complex) and kind != "complex":
        value = value.real
    if kind == "bool":
        return bool(value)
    if kind == "complex":
        return complex(*(_real(part, dtype) for part in (value.real, value.imag)))
    return _whole(value, dtype) if kind == "int" else _real(value, dtype)


def _whole(value: Any, dtype: str) -> int:
    low, high = INTEGER_RANGE[dtype]
    if isinstance(value, float) and not math.isfinite(value):
        return 0 if math.isnan(value) else high if value > 0 else low
    return min(max(int(value), low), high)


def _real(value: Any, dtype: str) -> float:
    # torch refuses finite numbers beyond the largest, which a cast would turn into inf, where the dtype has one.
    largest = torch.finfo(DTYPES[dtype].torch_dtype).max
    if abs(value) > largest:
        return math.copysign(math.inf if DTYPES[dtype].infinite else largest, value)
    return float(value)


def nested(items: list[Any], shape: tuple[int, ...]) -> Any:
    """The items as nested lists of that shape."""
    if not shape:
        return items[0]
    step = len(items) // shape[0] if shape[0] else 0
    return [nested(items[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def _call(helper: str, dtype: str, shape: tuple[int, ...], params: tuple[Any, ...], seed: int) -> str:
    items = [literal(shape), str(DTYPES[dtype].torch_dtype), *map(literal, params), f"seed={seed}"]
    return wrapped(f"{helper}(", items)


def _with_defaults(kind: str) -> Callable[..., str]:
    """A helper whose parameters have the defaults of the kind."""

    def make(dtype: str, shape: tuple[int, ...], params: tuple[Any, ...], seed: int) -> str:
        return _call(kind, dtype, shape, () if params == VALUE_KINDS[kind].defaults else params, seed)

    return make


def _ints(dtype: str, shape: tuple[int, ...], params: tuple[Any, ...], seed: int) -> str:
    # torch.randint draws below a bound that must itself be an int64.
    widest = INTEGER_RANGE.get(dtype, (-(2**53), 2**53))
    low, high = sorted(min(max(int(p), widest[0]), widest[1]) for p in params)
    return _call("ints", dtype, shape, (low, min(high, 2**63 - 2)), seed)


def _index(dtype: str, shape: tuple[int, ...], params: tuple[Any, ...], seed: int) -> str:
    return _ints(dtype, shape, (0, max(int(params[0]), 1) - 1), seed)


def _ties(dtype: str, shape: tuple[int, ...], params: tuple[Any, ...], seed: int) -> str:
    count = max(int(params[0]), 1)
    low = -(count // 2) if DTYPES[dtype].signed else 0
    return _ints(dtype, shape, (low, low + count - 1), seed)


def _arange(dtype: str, shape: tuple[int, ...], params: tuple[Any, ...], _seed: int) -> str:
    whole = DTYPES[dtype].kind == "int"
    start, step = (int(p) if whole else float(p) for p in params)
    count, target = math.prod(shape), str(DTYPES[dtype].torch_dtype)
    if (start, step) == (0, 1) and len(shape) == 1 and dtype in ("i32", "i64", "f32", "f64"):
        return f"torch.arange({count}, dtype={target})"
    wide = "torch.int64" if whole else "torch.float64"
    text = f"torch.arange({count}, dtype={wide})" + (f".reshape({literal(shape)})" if len(shape) != 1 else "")
    return f"({text} * {literal(step)} + {literal(start)})" + (f".to({target})" if target != wide else "")


def _full(dtype: str, shape: tuple[int, ...], params: tuple[Any, ...], _seed: int) -> str:
    value = literal(fitted(params[0], dtype))
    return f"torch.full({literal(shape)}, {value}, dtype={DTYPES[dtype].torch_dtype})"


def _data(dtype: str, shape: tuple[int, ...], params: tuple[Any, ...], _seed: int) -> str:
    items = [fitted(p, dtype) for p in params]
    count, target = math.prod(shape), DTYPES[dtype].torch_dtype
    if count <= MAX_LISTED:
        filled = [items[i % len(items)] for i in range(count)]
        return wrapped("torch.tensor(", [literal(nested(filled, shape)), f"dtype={target}"])
    times = -(-count // len(items))
    pattern = wrapped("torch.tensor(", [literal(items), f"dtype={target}"])
    return f"{pattern}.repeat({times})[:{count}].reshape({literal(shape)}).clone()"


def _edge(dtype: str, shape: tuple[int, ...], params: tuple[Any, ...], seed: int) -> str:
    share = () if params == VALUE_KINDS["edge"].defaults else params
    return _call("edge", dtype, shape, (edge_values(dtype), *share), seed)


_MAKERS: dict[str, Callable[..., str]] = {
    "normal": _with_defaults("normal"),
    "uniform": _with_defaults("uniform"),
    "ints": _ints,
    "index": _index,
    "permutation": _with_defaults("permutation"),
    "bools": _with_defaults("bools"),
    "arange": _arange,
    "full": _full,
    "ties": _ties,
    "edge": _edge,
    "data": _data,
}
