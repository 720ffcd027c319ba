"""Memory: which outputs share storage with inputs and with each other, and what was written to inputs.

It cannot judge tensors without elements (nothing shows whose memory they are), and where two tensors share memory it
compares only where each begins. What is written to inputs that hold tainted values is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from ._failure import Failure
from ._leafwise import judge_leaves
from ._snapshot import Key, show, table
from ._taint import taint
from ._types import Run, Tools

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Which inputs hold what must not be compared."""
    return {"inputs": taint(program, book).inputs}


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure per kind: mutation (an input holds other values afterwards), lost or invented (two tensors
    share memory on one side only), offset (they share it at another distance)."""
    if subject.error is not None:
        return []
    found = {f.kind: f for f in judge_leaves(plan, reference, subject, tools, "aliasing", ("input",))}
    for failure in _sharing(reference, subject):
        found.setdefault(failure.kind, failure)
    return list(found.values())


def _sharing(reference: Run, subject: Run) -> Iterator[Failure]:
    eager, compiled = pairs(reference), pairs(subject)
    both = _tensors(reference).keys() & _tensors(subject).keys()
    for pair in {**eager, **compiled}:
        if not both.issuperset(pair):
            continue
        what = " and ".join("an input" if k[0] == "input" else "an output" for k in pair)
        where = " and ".join(show(k) for k in pair)
        if pair not in compiled:
            yield Failure("aliasing", "lost", "run", f"{what} share memory in eager only", where)
        elif pair not in eager:
            yield Failure("aliasing", "invented", "run", f"{what} share memory in compiled code only", where)
        elif eager[pair] != compiled[pair]:
            detail = f"{where}: {eager[pair]} bytes apart in eager, {compiled[pair]} in compiled code"
            yield Failure("aliasing", "offset", "run", f"{what} share memory at another distance", detail)


def pairs(run: Run) -> dict[tuple[Key, Key], int]:
    """Pairs of tensors that share storage, the second an output: how many bytes after the first it begins."""
    by_storage: dict[int, list[Key]] = {}
    tensors = _tensors(run)
    for key, tensor in tensors.items():
        by_storage.setdefault(tensor.untyped_storage()._cdata, []).append(key)
    found = {}
    for keys in by_storage.values():
        for i, second in enumerate(keys):
            if second[0] == "output":
                for first in keys[:i]:
                    found[first, second] = _begins(tensors[second]) - _begins(tensors[first])
    return found


def _begins(tensor: torch.Tensor) -> int:
    return int(tensor.storage_offset()) * tensor.itemsize


def _tensors(run: Run) -> dict[Key, torch.Tensor]:
    """Inputs first, then outputs: those that have memory."""
    leaves = table(run)
    keys = sorted((k for k in leaves if k[0] in ("input", "output")), key=lambda k: k[0] != "input")
    return {k: leaves[k] for k in keys if isinstance(leaves[k], torch.Tensor) and _has_memory(leaves[k])}


def _has_memory(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and tensor.numel() > 0 and tensor.device.type != "meta"
