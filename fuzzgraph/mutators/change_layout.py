"""Change the strides and offset of an input: permuted, gaps, expanded, overlapping; or share another's storage."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from ..generate.inputs import view_into
from ..generate.layout import draw_layout
from ..ir.builder import Rejected
from ..ir.program import InputSpec, Program
from . import mutator
from ._edit import Edit, attempt, input_specs
from .tools import Tools

SHARE = 0.2


@mutator("change_layout", weight=2.0)
class ChangeLayout:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        specs = input_specs(edit)
        if not specs:
            raise Rejected("no input to change")
        spec = rng.choice(specs)
        shared = self._shared(edit, spec, rng) if rng.random() < SHARE else None
        if shared is not None:
            edit.b.set_input(spec.name, shared)
            return True
        plain = not spec.type.is_contiguous or spec.type.offset > 0
        stride, offset = draw_layout(spec.type.shape, rng, overlap=rng.random() < 0.6, plain=plain)
        slack = rng.choice((None, None, 1, 16))
        kind = spec.type.with_(stride=stride, offset=offset)
        edit.b.set_input(spec.name, replace(spec, type=kind, storage=None if slack is None else kind.extent + slack))
        return True

    def _shared(self, edit: Edit, spec: InputSpec, rng: Random) -> InputSpec | None:
        """The input as a view of an earlier one. Not with backward: leaves that share storage are no leaves."""
        names = [s.name for s in edit.b.inputs]
        if edit.b.options.grad or spec.name not in names:
            return None
        earlier = edit.b.inputs[: names.index(spec.name)]
        bases = [s for s in earlier if s.type.dtype == spec.type.dtype and s.view_of is None]
        if not bases:
            return None
        base = rng.choice(bases)
        kind = view_into(base, spec.type.shape, rng)
        return None if kind is None else replace(spec, type=kind, storage=None, view_of=base.name)
