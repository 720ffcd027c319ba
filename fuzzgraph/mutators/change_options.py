"""Change a run option: dynamic shapes, backward, autocast, mode, config patches."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from ..generate.options import change_option
from ..generate.pool import GRAD_SHARE
from ..ir.program import Program
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools


@mutator("change_options", weight=1.5)
class ChangeOptions:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        edit.b.options = change_option(edit.b.options, rng)
        if edit.b.options.grad and not any(s.type.requires_grad for s in edit.b.inputs):
            self._require_grad(edit, rng)
        return True

    def _require_grad(self, edit: Edit, rng: Random) -> None:
        """Backward needs inputs that require grad."""
        bases = {s.view_of for s in edit.b.inputs}
        for spec in list(edit.b.inputs):
            free = spec.view_of is None and spec.name not in bases and spec.type.info.kind in ("float", "complex")
            if free and rng.random() < GRAD_SHARE:
                edit.b.set_input(spec.name, replace(spec, type=spec.type.with_(requires_grad=True)))
