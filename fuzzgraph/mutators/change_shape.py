"""Change the shape of an input: one size everywhere or in this input only, or a dim more or less."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from ..generate.layout import SIZES, draw_layout
from ..generate.profile import pick
from ..generate.script import grown_index, resized
from ..ir.builder import Rejected
from ..ir.program import InputSpec, Program
from ..ir.types import contiguous_strides
from . import mutator
from ._edit import Edit, attempt, input_specs
from .tools import Tools

MAX_RANK = 5


@mutator("change_shape", weight=2.0)
class ChangeShape:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        specs = input_specs(edit)
        if not specs:
            raise Rejected("no input to change")
        spec = rng.choice(specs)
        how = rng.choice(("everywhere", "everywhere", "here", "here", "rank"))
        if how == "rank" or not spec.type.shape:
            edit.b.set_input(spec.name, _other_rank(spec, rng))
            return True
        old = rng.choice(spec.type.shape)
        new = pick([(n, w) for n, w in SIZES if n != old], rng)
        for other in specs if how == "everywhere" else [spec]:
            edit.b.set_input(other.name, grown_index(resized(other, old, new), old, new))
        return True


def _other_rank(spec: InputSpec, rng: Random) -> InputSpec:
    shape = list(spec.type.shape)
    if shape and (len(shape) >= MAX_RANK or rng.random() < 0.5):
        del shape[rng.randrange(len(shape))]
    else:
        shape.insert(rng.randrange(len(shape) + 1), rng.choice((1, 1, 2, 3)))
    stride, offset = contiguous_strides(tuple(shape)), 0
    if rng.random() < 0.3:
        stride, offset = draw_layout(tuple(shape), rng, overlap=False)
    kind = spec.type.with_(shape=tuple(shape), stride=stride, offset=offset)
    return replace(spec, type=kind, storage=None, dynamic=())
