"""Wrong values: outputs, inputs after the run, gradients, states. Float64 eager is the judge, default tolerances.

A mismatch is a failure only where eager itself is trustworthy: it repeats, it does not move more than the tolerance
when values move by an ulp, its float64 run agrees with it, and the mismatch outlives emulated low-precision casts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from . import _numeric as numeric
from ._failure import Failure
from ._snapshot import Key, show, skipped, table
from ._taint import taint
from ._types import Run, Tools

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program

# Two directions at random per element: the chance that an ulp moves a given element the harmless way in all is 1/4.
PERTURBATIONS = (1, 2)


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Which outputs, inputs and states hold what must not be compared. With any of that about, gradients are left
    out as well: which of two tied elements gets the gradient is the same question."""
    found = taint(program, book)
    return {
        "outputs": found.outputs, "inputs": found.inputs, "states": found.states, "gradients": not found.sources,
        "sources": found.sources,
    }  # fmt: skip


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure per kind (value, input, gradient, state, zero_sign): the first leaf that shows it."""
    if subject.error is not None:
        return []
    found: dict[str, Failure] = {}
    theirs = table(subject)
    for key, expected in table(reference).items():
        if key not in theirs or skipped(key, plan):
            continue
        failure = _leaf(key, expected, theirs[key], tools)
        if failure is not None:
            found.setdefault(failure.kind, failure)
    return list(found.values())


def _leaf(key: Key, expected: Any, actual: Any, tools: Tools) -> Failure | None:
    """The failure at one leaf, if there is one. What is no number, or differs in dtype or shape, is not ours."""
    if isinstance(expected, torch.Tensor) != isinstance(actual, torch.Tensor):
        return None
    a, b = numeric.as_tensor(expected), numeric.as_tensor(actual)
    if a is None or b is None or a.dtype != b.dtype or a.shape != b.shape:
        return None
    wrong = numeric.differs(a, b)
    if bool(wrong.any()):
        return _mismatch(key, a, b, wrong, tools)
    if key[0] == "output" and not numeric.is_exact(a):
        return _zero_sign(key, a, b, tools)
    return None


def _mismatch(key: Key, a: torch.Tensor, b: torch.Tensor, wrong: torch.Tensor, tools: Tools) -> Failure | None:
    doubtful, reason = _doubtful(key, a, b, tools)
    better = _wide_leaf(key, a, tools)
    if better is not None:
        branch = numeric.explains(a, better, b, scale=numeric.FAR)
        if bool((branch & wrong & ~doubtful).any()):
            reason = reason or "eager's float64 run takes another branch or is far away"
        doubtful = doubtful | branch
    left = wrong & ~doubtful
    if not bool(left.any()):
        tools.unstable(f"{show(key)}: {reason}")
        return None
    if not numeric.is_exact(a) and numeric.same_as(a, b, better, ignore=doubtful):
        return None
    if tools.low_precision and _emulation_agrees(key, a, left, tools):
        return None
    detail = f"{show(key)}, {a.dtype} {list(a.shape)}: {numeric.example(a, b, left)}"
    if better is not None:
        where = tuple(left.nonzero()[0].tolist())
        detail += f"; float64 eager {better[where].item()!r}"
    elif tools.float64_problem:
        detail += f"; no float64 reference: {tools.float64_problem}"
    kind = "value" if key[0] == "output" else key[0]
    return Failure("value", kind, "run", f"{numeric.pattern(a, b, left)} ({_short(a)})", detail)


def _doubtful(key: Key, a: torch.Tensor, b: torch.Tensor, tools: Tools) -> tuple[torch.Tensor, str]:
    """Elements whose reference moves by itself or under an ulp, and why."""
    mask = torch.zeros(a.shape, dtype=torch.bool)
    again = _leaf_of(tools.rerun(), key, a)
    if again is None:
        return ~mask, "a second eager run does not give it"
    mask |= numeric.explains(a, again, b)
    reason = "two eager runs differ" if bool(mask.any()) else ""
    for seed in PERTURBATIONS:
        moved = _leaf_of(tools.perturbed(seed), key, a)
        if moved is None:
            return ~mask, "an ulp changes its shape, or makes eager raise"
        mask |= numeric.explains(a, moved, b)
    if bool(mask.any()):
        reason = reason or "an ulp moves eager more than the tolerance"
    return mask, reason


def _leaf_of(run: Run | None, key: Key, like: torch.Tensor) -> torch.Tensor | None:
    """The leaf of another run, if it is there with that shape."""
    if run is None or run.error is not None:
        return None
    value = table(run).get(key)
    found = None if value is None else numeric.as_tensor(value)
    return found if found is not None and found.shape == like.shape else None


def _wide_leaf(key: Key, a: torch.Tensor, tools: Tools) -> torch.Tensor | None:
    """The leaf of the float64 run; None where there is none of that kind of dtype."""
    found = _leaf_of(tools.float64(), key, a)
    if found is None or numeric.is_exact(a) != numeric.is_exact(found) or a.is_complex() != found.is_complex():
        return None
    return found if numeric.is_exact(a) else numeric.wide(found)


def _emulation_agrees(key: Key, a: torch.Tensor, left: torch.Tensor, tools: Tools) -> bool:
    """Whether rounding where eager rounds makes the mismatch go away: then fusion skipped a rounding, by design."""
    emulated = _leaf_of(tools.emulated(), key, a)
    return emulated is not None and not bool((numeric.differs(a, emulated) & left).any())


def _zero_sign(key: Key, a: torch.Tensor, b: torch.Tensor, tools: Tools) -> Failure | None:
    """Zeros of another sign, where eager's sign is sure: repeated, unmoved by an ulp, and float64's too."""
    wrong = numeric.zero_signs(a, b)
    if not bool(wrong.any()):
        return None
    others = [_leaf_of(tools.rerun(), key, a), *(_leaf_of(tools.perturbed(s), key, a) for s in PERTURBATIONS)]
    others.append(_wide_leaf(key, a, tools))
    for other in others:
        if other is None or other.is_complex() != a.is_complex():
            return None
        sign = torch.signbit(numeric.real(other))
        wrong &= (sign == torch.signbit(numeric.real(a))) & (numeric.real(other) == 0)
    if not bool(wrong.any()):
        return None
    detail = f"{show(key)}, {a.dtype} {list(a.shape)}: {int(wrong.sum())} of {wrong.numel()} zeros"
    return Failure("value", "zero_sign", "run", f"sign of zero ({_short(a)})", detail)


def _short(a: torch.Tensor) -> str:
    return str(a.dtype).removeprefix("torch.")
