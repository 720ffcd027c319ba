"""Comparison of two tensors element by element, at PyTorch's default tolerances."""

from __future__ import annotations

from typing import Any

import torch

# torch.testing.assert_close's defaults: (relative, absolute).
TOLERANCE: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
# `tol` for torch._dynamo.utils.same: its own default, but no finer than the dtype's tolerance, nor coarser for float64.
SAME_TOLERANCE: dict[torch.dtype, float] = {
    torch.float16: 1e-3, torch.bfloat16: 1.6e-2, torch.float32: 1e-4, torch.float64: 1e-7,
}  # fmt: skip
# A run that moves by a sixteenth of the mismatch may explain it: roundings add up over operators, and one draw of
# directions shows a part of what is possible. Without this, every float16 mismatch would be excused: there an ulp is
# about the tolerance.
EXPLAINS = 16.0
# Eager that is this many tolerances from its own float64 run has taken another branch, or has lost its digits.
FAR = 100.0
FAR_MOST = 0.25


def as_tensor(value: Any) -> torch.Tensor | None:
    """A number or a tensor as a plain, dense tensor on the CPU (a quantized one: its integers); None for anything else,
    and for a tensor that reaches beyond its memory, which must not be read.

    Python floats count as float32: they may come from an `item()` of one.
    """
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.is_quantized:
            value = value.int_repr()
        if value.layout != torch.strided:
            value = value.to_dense()
        elif beyond(value):
            return None
        value = value.resolve_conj().resolve_neg().cpu()
        return value.to(torch.float64) if "float8" in str(value.dtype) else value
    if isinstance(value, bool | int):
        return torch.tensor(value) if -(2**63) <= value < 2**63 else None
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float32)
    if isinstance(value, complex):
        return torch.tensor(value, dtype=torch.complex64)
    return None


def beyond(value: torch.Tensor) -> bool:
    """Whether a strided tensor reaches beyond its memory: compiled code can make such a one, torch's own cannot."""
    last = sum((n - 1) * s for n, s in zip(value.shape, value.stride()))
    end = (value.storage_offset() + last + 1) * value.itemsize
    return bool(value.numel() > 0 and end > value.untyped_storage().nbytes())


def wide(value: torch.Tensor) -> torch.Tensor:
    return value.to(torch.complex128 if value.is_complex() else torch.float64)


def is_exact(value: torch.Tensor) -> bool:
    return not (value.is_floating_point() or value.is_complex())


def differs(reference: torch.Tensor, other: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    """Mask of elements that are not close (NaN equals NaN, infinities equal themselves); integers compare exactly.

    `other` may be of a wider dtype: it is rounded to the reference's first. Shapes must be equal. Complex numbers that
    are not finite on both sides are close: which parts of a product of infinities are NaN is nobody's promise.
    """
    if is_exact(reference):
        return reference != other
    relative, absolute = TOLERANCE.get(reference.dtype, (1e-7, 1e-7))
    if scale != 1.0:
        relative, absolute = min(relative * scale, FAR_MOST), absolute * scale
    narrowed = other.to(reference.dtype)
    far = ~torch.isclose(wide(narrowed), wide(reference), rtol=relative, atol=absolute, equal_nan=True)
    if reference.is_complex():
        far &= torch.isfinite(reference) | torch.isfinite(narrowed)
    return far


def explains(reference: torch.Tensor, other: torch.Tensor, subject: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    """Mask of elements where another run of the reference moves enough to explain the subject's difference.

    No finite movement is as large as an infinite difference: a reference that lost its digits explains that.
    """
    moved = (wide(other) - wide(reference)).abs() * EXPLAINS
    # Written so that NaN and infinite movements explain.
    enough = ~(moved < (wide(subject) - wide(reference)).abs())
    lost = ~torch.isfinite(subject) & differs(reference, other, FAR)
    return differs(reference, other, scale) & (enough | lost)


def real(value: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of reals."""
    return torch.view_as_real(value) if value.is_complex() else value


def same_as(reference: torch.Tensor, subject: torch.Tensor, better: torch.Tensor | None, ignore: torch.Tensor) -> bool:
    """PyTorch's own judgement: `torch._dynamo.utils.same` with the float64 result as judge.

    Elements of `ignore` are left out. Infinities and NaN are judged here, each by itself: `same` works on a root mean
    square, which one of them makes NaN, and NaN on both sides passes.
    """
    import torch._dynamo.utils

    odd = ~torch.isfinite(reference) | ~torch.isfinite(subject)
    wrong = odd & ~ignore & differs(reference, subject)
    if better is not None:
        wrong &= differs(better.to(reference.dtype), subject)
        odd |= ~torch.isfinite(better)
    if bool(wrong.any()):
        return False
    items = [reference, subject, *([] if better is None else [better])]
    masked = [real(torch.where(odd | ignore, torch.zeros_like(t), t)) for t in items]
    return bool(
        torch._dynamo.utils.same(
            masked[0], masked[1], fp64_ref=masked[2] if better is not None else None,
            tol=SAME_TOLERANCE.get(masked[0].dtype, 1e-4), equal_nan=True, log_error=lambda *a, **k: None,
        )
    )  # fmt: skip


def zero_signs(reference: torch.Tensor, subject: torch.Tensor) -> torch.Tensor:
    """Mask of elements that are zero in both, with different signs; of real numbers."""
    return (reference == 0) & (subject == 0) & (torch.signbit(reference) != torch.signbit(subject))


def example(reference: torch.Tensor, subject: torch.Tensor, mask: torch.Tensor) -> str:
    """How many elements differ, and the first of them."""
    count = int(mask.sum())
    where = mask.nonzero()[0].tolist()
    a, b = reference[tuple(where)].item(), subject[tuple(where)].item()
    return f"{count} of {mask.numel()} elements differ, the first at {where}: {a!r} in eager, {b!r} compiled"


def pattern(reference: torch.Tensor, subject: torch.Tensor, mask: torch.Tensor) -> str:
    """What kind of difference it is, in words that do not vary between programs."""
    if is_exact(reference):
        return "values differ"
    a, b = reference[mask], subject[mask]
    if bool((torch.isnan(b) & ~torch.isnan(a)).any()):
        return "NaN where eager has none"
    if bool((torch.isnan(a) & ~torch.isnan(b)).any()):
        return "no NaN where eager has one"
    if bool((torch.isinf(a) != torch.isinf(b)).any()):
        return "an infinity on one side"
    return "values differ"
