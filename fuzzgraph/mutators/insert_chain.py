"""Insert a chain: several pointwise operators, one after the other, from a value of the program to a further result.

The compiler fuses them with what is there. What errs is often a pair of operators, and a chain tries many pairs for
little more than the price of one compilation."""

from __future__ import annotations

from random import Random

from ..ir.builder import Rejected
from ..ir.program import Program
from . import mutator
from ._edit import Edit, add_result, attempt, tensors
from ._grow import grow, tensor_results
from .tools import Tools

LENGTHS = (3, 4, 6, 8, 12)


@mutator("insert_chain", weight=1.5)
class InsertChain:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        f = edit.function(rng)
        last = rng.choice(list(tensors(f)))
        for _ in range(rng.choice(LENGTHS)):
            results = tensor_results(f, grow(edit, f, None, last, rng, chained=True))
            if not results:
                raise Rejected("no tensor made")
            last = rng.choice(results)
        add_result(f, last, rng)
        return True
