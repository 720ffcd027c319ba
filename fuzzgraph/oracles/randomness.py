"""Random numbers: what holds in eager whatever the seed must hold where Inductor draws numbers of its own.

Compiled code draws other numbers than eager (here `fallback_random` is off, as users have it), so no value can be
compared. Compared is what eight eager runs under different seeds have in common: results that are the same for all of
them, the number of distinct values in a result or in two results (rows that repeat, numbers drawn once too often),
and results that are equal or zero in the same places (a mask and what was masked by it). It cannot judge distributions,
nor random results of fewer than four elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..ir.program import op_of
from ..render.check import alike, random_count, random_unequal, random_value, seeded
from ._exceptions import raised
from ._failure import Failure
from ._numeric import as_tensor
from ._snapshot import show, table
from ._types import Run, Tools

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program

# Two independent truth values agree in all eager runs once in 2**8, those of the four elements asked for at least once
# in 2**32. Compiled code is run under more than one seed only where the first one looks wrong.
EAGER_SEEDS, COMPILED_SEEDS = range(8), range(3)
MESSAGES = {
    "value": "differs whatever the seed", "repeated": "random numbers repeat",
    "varied": "more random numbers than in eager", "unequal": "what is drawn once in eager is drawn twice",
}  # fmt: skip


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Only programs with operators that draw are asked."""
    rules = book.rules if book is not None else {}
    nodes = [node for function in program.functions for node in function.body]
    return {} if any("random" in rules[op].tags for op in map(op_of, nodes) if op in rules) else None


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure of each kind: value, repeated, varied, unequal, exception."""
    if subject.error is not None or reference.error is not None or not reference.drew:
        return []
    own = tools.own_random(0)
    if own is None or tools.harmless(own):
        return []
    if own.error is not None:
        return [raised("randomness", own.error, "with random numbers of its own: ")]
    eager = [tools.reseeded(seed) for seed in EAGER_SEEDS]
    # A program that sets the seed itself draws what it chose to.
    chosen = eager[0].drawn is not None and eager[1].drawn is not None and torch.equal(eager[0].drawn, eager[1].drawn)
    if chosen or any(run.error is not None for run in eager) or not _differences(eager, [own], subject):
        return []
    compiled = [tools.own_random(seed) for seed in COMPILED_SEEDS]
    ran = [run for run in compiled if run is not None and run.error is None]
    found = _differences(eager, ran, subject)
    return [Failure("randomness", kind, "run", MESSAGES[kind], words[0][:500]) for kind, words in found.items()]


def _differences(eager: list[Run], compiled: list[Run], subject: Run) -> dict[str, list[str]]:
    """In words, by kind. Of values that no seed changes, those count that are right with eager's random numbers."""
    theirs, ours = [_leaves(run) for run in eager], [_leaves(run) for run in compiled]
    [first], [plain], _ = seeded(theirs[:1], [_leaves(subject)])
    right = [{k: run[k] for k, t in first.items() if alike(t, plain[k])} for run in theirs]
    found = {
        "value": random_value(right, ours), "repeated": random_count(theirs, ours),
        "varied": random_count(theirs, ours, more=True), "unequal": random_unequal(theirs, ours),
    }  # fmt: skip
    return {kind: words for kind, words in found.items() if words}


def _leaves(run: Run) -> dict[str, Any]:
    """The tensors that can be read."""
    tensors = {show(key): as_tensor(value) for key, value in table(run).items() if isinstance(value, torch.Tensor)}
    return {name: t for name, t in tensors.items() if t is not None}
