"""Put Python around a function that only the script calls: state, a helper, a closure, a module, arguments."""

from __future__ import annotations

from random import Random

from ..generate.numbers import Numbers
from ..generate.surroundings import surround
from ..ir.builder import Rejected
from ..ir.program import Program
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools


@mutator("change_surroundings", weight=1.0)
class ChangeSurroundings:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        called = {c.function for c in edit.b.calls if not c.plain}
        found = [f for f in edit.functions() if f.name in called and not f.captures and edit.is_alone(f.name)]
        if not found:
            raise Rejected("no function that only the script calls")
        f = rng.choice(found)
        surround(Numbers(edit.tools.book, edit.adapters, edit.b, f), rng)
        return True
