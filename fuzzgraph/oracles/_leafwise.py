"""Leaf by leaf: whether what a compiled run left differs from eager's in value, and whether eager can be trusted there.

Shared by the oracles that compare numbers. Float64 eager is the judge, tolerances are PyTorch's defaults. A mismatch is
a failure only where eager repeats, does not move more than the tolerance when values move by an ulp (unless nothing
rounds on the way there: then the program's inputs decide each bit), its float64 run agrees with it, and the mismatch
outlives emulated low-precision casts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from . import _numeric as numeric
from ._failure import Failure
from ._snapshot import Key, decided, show, skipped, table
from ._types import Precision, Run

# Next to a discontinuity an ulp in one direction is harmless: all up and all down meet every one that takes a single
# value's ulp, random directions most of those that take two.
Perturbations = tuple[str | int, ...]
PERTURBATIONS: Perturbations = ("up", "down", 1, 2)
# The failure's kind, by what kind of leaf it is.
KINDS = {"output": "value", "input": "mutation", "gradient": "gradient", "state": "state"}


def judge_leaves(
    plan: dict[str, Any], reference: Run, subject: Run, tools: Precision, oracle: str, kinds: Iterable[str]
) -> list[Failure]:
    """Failures of `oracle` at leaves whose key starts with one of `kinds`: the first one of each kind of failure."""
    if subject.error is not None:
        return []
    found: dict[str, Failure] = {}
    theirs = table(subject)
    for key, expected in table(reference).items():
        if key[0] not in kinds or key not in theirs or skipped(key, plan):
            continue
        failure = _leaf(key, expected, theirs[key], plan, tools, oracle)
        if failure is not None:
            found.setdefault(failure.kind, failure)
    return list(found.values())


def _leaf(
    key: Key, expected: Any, actual: Any, plan: dict[str, Any], tools: Precision, oracle: str
) -> Failure | None:
    """The failure at one leaf, if there is one. What is no number, or differs in dtype or shape, is not ours."""
    if isinstance(expected, torch.Tensor) != isinstance(actual, torch.Tensor):
        return None
    a, b = numeric.as_tensor(expected), numeric.as_tensor(actual)
    if a is None or b is None or a.dtype != b.dtype or a.shape != b.shape:
        return None
    wrong = numeric.differs(a, b)
    if bool(wrong.any()):
        return _mismatch(key, a, b, wrong, tools, oracle, () if decided(key, plan) else PERTURBATIONS)
    # Of complex numbers, the order of a product decides the signs of parts that are zero.
    if key[0] == "output" and not (numeric.is_exact(a) or a.is_complex()) and plan.get("zero_signs", True):
        return _zero_sign(key, a, b, tools, oracle)
    return None


def _mismatch(
    key: Key, a: torch.Tensor, b: torch.Tensor, wrong: torch.Tensor, tools: Precision, oracle: str,
    perturbations: Perturbations,
) -> Failure | None:  # fmt: skip
    doubtful, reason = _doubtful(key, a, b, tools, perturbations)
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
    kind = KINDS[key[0]]
    return Failure(oracle, kind, "run", f"{numeric.pattern(a, b, left)} ({_short(a)})", detail)


def _doubtful(
    key: Key, a: torch.Tensor, b: torch.Tensor, tools: Precision, perturbations: Perturbations
) -> tuple[torch.Tensor, str]:
    """Elements whose reference moves by itself or under an ulp, and why."""
    mask = torch.zeros(a.shape, dtype=torch.bool)
    again = _leaf_of(tools.rerun(), key, a)
    if again is None:
        return ~mask, "a second eager run does not give it"
    mask |= numeric.explains(a, again, b)
    reason = "two eager runs differ" if bool(mask.any()) else ""
    for how in perturbations:
        moved = _leaf_of(tools.perturbed(how), key, a)
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


def _wide_leaf(key: Key, a: torch.Tensor, tools: Precision) -> torch.Tensor | None:
    """The leaf of the float64 run; None where there is none of that kind of dtype."""
    found = _leaf_of(tools.float64(), key, a)
    if found is None or numeric.is_exact(a) != numeric.is_exact(found) or a.is_complex() != found.is_complex():
        return None
    return found if numeric.is_exact(a) else numeric.wide(found)


def _emulation_agrees(key: Key, a: torch.Tensor, left: torch.Tensor, tools: Precision) -> bool:
    """Whether rounding where eager rounds makes the mismatch go away: then fusion skipped a rounding, by design."""
    emulated = _leaf_of(tools.emulated(), key, a)
    return emulated is not None and not bool((numeric.differs(a, emulated) & left).any())


def _zero_sign(key: Key, a: torch.Tensor, b: torch.Tensor, tools: Precision, oracle: str) -> Failure | None:
    """Zeros of another sign, where eager's sign is sure: repeated, unmoved by an ulp, and float64's too. All real."""
    wrong = numeric.zero_signs(a, b)
    if not bool(wrong.any()):
        return None
    others = [_leaf_of(tools.rerun(), key, a), *(_leaf_of(tools.perturbed(how), key, a) for how in PERTURBATIONS)]
    others.append(_wide_leaf(key, a, tools))
    for other in others:
        if other is None or other.is_complex():
            return None
        wrong &= (torch.signbit(other) == torch.signbit(a)) & (other == 0)
    if not bool(wrong.any()):
        return None
    detail = f"{show(key)}, {a.dtype} {list(a.shape)}: {int(wrong.sum())} of {wrong.numel()} zeros"
    return Failure(oracle, "zero_sign", "run", f"sign of zero ({_short(a)})", detail)


def _short(a: torch.Tensor) -> str:
    return str(a.dtype).removeprefix("torch.")
