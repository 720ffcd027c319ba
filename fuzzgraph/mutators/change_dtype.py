"""Change the dtype of an input, and of the inputs that share its storage."""

from __future__ import annotations

from random import Random

from ..generate.inputs import DTYPE_WEIGHTS, draw_dtype, with_dtype
from ..ir.builder import Rejected
from ..ir.program import Program
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools


@mutator("change_dtype", weight=2.0)
class ChangeDtype:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        specs = [s for s in (*edit.b.inputs, *edit.b.constants) if s.view_of is None]
        if not specs:
            raise Rejected("no input to change")
        spec = rng.choice(specs)
        dtype = draw_dtype(DTYPE_WEIGHTS.keys() - {spec.type.dtype}, rng)
        alike = [s for s in specs if s.type.dtype == spec.type.dtype]
        # All inputs of the dtype at once, so that operands of binary operators still agree.
        together = alike if len(alike) > 1 and rng.random() < 0.4 else [spec]
        names = {s.name for s in together}
        for other in (*edit.b.inputs, *edit.b.constants):
            if other.name in names or other.view_of in names:
                edit.b.set_input(other.name, with_dtype(other, dtype, rng))
        return True
