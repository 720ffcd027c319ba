"""Insert a node: a call of a random rule on values of the program, used by a later node or returned."""

from __future__ import annotations

from random import Random

from ..ir.builder import Rejected
from ..ir.program import Program
from . import mutator
from ._edit import Edit, attempt
from ._grow import grow, tensor_results, wire
from .tools import Tools


@mutator("insert_node", weight=2.0)
class InsertNode:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        f = edit.function(rng)
        before = rng.choice([*f.body, None, None])
        node = grow(edit, f, before, None, rng)
        results = tensor_results(f, node)
        if not results:
            raise Rejected("no tensor made")
        wire(edit, f, rng.choice(results), rng)
        return True
