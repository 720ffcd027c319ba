"""Write a run of nodes with a Python form, or one form less."""

from __future__ import annotations

from random import Random

from ..generate.regions import draw_region
from ..ir.builder import Rejected
from ..ir.program import Program
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools


@mutator("change_form", weight=0.7)
class ChangeForm:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        # Operators that call functions want all of them in one graph, which many forms are made to break.
        found = [f for f in edit.functions() if f.has_result and f.name not in edit.contracts]
        if not found:
            raise Rejected("all functions are called by operators")
        f = rng.choice(found)
        if f.regions and rng.random() < 0.3:
            del f.regions[rng.randrange(len(f.regions))]
            return True
        region = draw_region(edit.tools.book, edit.b, f, edit.tools.generator.forms, rng)
        if region is None:
            raise Rejected("no node without a form")
        f.regions.append(region)
        return True
