"""Change the values of an input: another distribution or seed; or whether it requires grad, or its dynamic dims."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from ..generate.inputs import draw_values
from ..ir.builder import Rejected
from ..ir.program import Program
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools


@mutator("change_values", weight=1.5)
class ChangeValues:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        specs = [s for s in (*edit.b.inputs, *edit.b.constants) if s.view_of is None]
        if not specs:
            raise Rejected("no input to change")
        spec = rng.choice(specs)
        kind, roll = spec.type, rng.random()
        bases = {s.view_of for s in edit.b.inputs}
        if roll < 0.15 and kind.info.kind in ("float", "complex") and edit.b.options.grad and spec.name not in bases:
            spec = replace(spec, type=kind.with_(requires_grad=not kind.requires_grad))
        elif roll < 0.3 and kind.shape and spec in edit.b.inputs:
            spec = replace(spec, dynamic=tuple(d for d, n in enumerate(kind.shape) if n > 1 and rng.random() < 0.5))
        else:
            spec = replace(spec, values=draw_values(kind.dtype, rng))
        edit.b.set_input(spec.name, spec)
        return True
