"""Which value distribution an example tensor comes nearest to. Values themselves are not kept, but for tiny tensors."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...ir.types import FROM_TORCH
from ...ir.values import Values

# Elements of a tensor that is small enough for its values to be kept where no distribution says them.
KEPT = 16


def observed(tensor: torch.Tensor, seed: int) -> Values:
    """A distribution with the tensor's range, so that whole numbers stay valid as indices."""
    with torch.no_grad():
        flat = tensor.detach().cpu().resolve_conj().resolve_neg().reshape(-1)
        if not flat.numel():
            return Values(_EMPTY.get(FROM_TORCH[tensor.dtype], "normal"), (), seed)
        if bool((flat == flat[0]).all()):
            return Values("full", (_plain(flat[0]),))
        if tensor.dtype == torch.bool:
            return Values("bools", (_rounded(flat.double().mean().item()),), seed)
        if tensor.is_complex():
            return Values("normal", (), seed)
        if tensor.is_floating_point():
            return _real(flat, seed)
        return _whole(flat, tensor, seed)


_EMPTY = {"bool": "bools", **dict.fromkeys(("u8", "i8", "i16", "i32", "i64"), "ints")}


def _real(flat: torch.Tensor, seed: int) -> Values:
    double = flat.double()
    if not bool(double.isfinite().all()):
        # Such as a mask of zeros and -inf: its pattern matters more than any distribution of the rest.
        return Values("data", tuple(map(_plain, flat[:KEPT])))
    low, high = double.min().item(), double.max().item()
    if low >= 0:
        return Values("uniform", (_rounded(low), _rounded(high)), seed)
    return Values("normal", (_rounded(double.mean().item()), _rounded(double.std().item())), seed)


def _whole(flat: torch.Tensor, tensor: torch.Tensor, seed: int) -> Values:
    low, high = int(flat.min()), int(flat.max())
    steps = flat[1:].long() - flat[:-1].long()
    if tensor.is_contiguous() and bool((steps == steps[0]).all()):
        return Values("arange", (int(flat[0]), int(steps[0])))
    if flat.numel() <= KEPT and tensor.is_contiguous():
        return Values("data", tuple(map(_plain, flat)))
    if low == 0 and high == flat.numel() - 1 and flat.unique().numel() == flat.numel():
        return Values("permutation", (), seed)
    return Values("index", (high + 1,), seed) if low >= 0 else Values("ints", (low, high), seed)


def _plain(element: torch.Tensor) -> Any:
    value = element.item()
    if isinstance(value, complex):
        return value.real if value.imag == 0 else abs(value)
    return value


def _rounded(value: float) -> float:
    """Three significant digits: what people read."""
    return float(f"{value:.3g}") if math.isfinite(value) else value
