"""The edge values of each dtype."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ..ir.types import DTYPES
from ..ir.values import INTEGER_RANGE

inf, nan = float("inf"), float("nan")


@functools.cache
def edge_values(dtype: str) -> list[Any]:
    """What most often takes another path: zeros, ones, extremes, and for real floats inf, nan, denormals."""
    kind = DTYPES[dtype].kind
    if kind == "bool":
        return [False, True]
    if kind == "int":
        low, high = INTEGER_RANGE[dtype]
        around = [0, 1, 2, 3, 7, high // 2, high - 1, high]
        return around + ([-1, -2, -3, low // 2, low + 1, low] if low else [high // 2 + 1])
    if kind == "float":
        return _reals(dtype)
    # None is infinite, or becomes so in a product: which parts of that are NaN is nobody's promise, and whatever is
    # computed from it differs.
    small = [v for v in _reals("f32" if dtype == "c64" else "f64") if abs(v) <= 2]
    corners = [complex(a, b) for a in (0.0, -0.0, 1.0, -1.0) for b in (0.0, -0.0, 1.0)]
    return corners + [complex(v, 1.0) for v in [*small, 1e8]]


def _reals(dtype: str) -> list[float]:
    info = torch.finfo(DTYPES[dtype].torch_dtype)
    infinite = [inf, -inf] if DTYPES[dtype].infinite else []
    around = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, *infinite, nan, info.max, info.min, info.tiny, -info.tiny]
    # A quarter of the smallest normal number is denormal in each of the dtypes.
    small = [info.tiny / 4, -info.tiny / 4, info.eps, 1.0 + info.eps, 1.0 - info.eps]
    return around + small + ([1e30, -1e30, 1e-30] if info.max > 1e30 else [1e4, 1e-4])
