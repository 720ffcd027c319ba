"""Use a value once more: return it twice, or apply another operator to it beside its users."""

from __future__ import annotations

from random import Random

from ..ir.program import Program
from . import mutator
from ._edit import Edit, add_result, attempt, tensors
from ._grow import grow, tensor_results
from .tools import Tools


@mutator("duplicate_output", weight=1.0)
class DuplicateOutput:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        f = edit.function(rng)
        value = rng.choice(list(tensors(f)))
        if rng.random() < 0.35:
            add_result(f, value, rng)
            return True
        for made in tensor_results(f, grow(edit, f, None, value, rng))[:1]:
            add_result(f, made, rng)
        return True
