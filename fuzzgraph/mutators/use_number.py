"""Say a literal by a Python number: made of sizes, or read from a tensor; or bring a size that depends on data in."""

from __future__ import annotations

from random import Random

from ..generate.numbers import Numbers
from ..generate.script import leaves
from ..ir.builder import Rejected
from ..ir.program import Program
from . import mutator
from ._edit import Edit, add_result, attempt, is_used
from .tools import Tools


@mutator("use_number", weight=1.5)
class UseNumber:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        f = edit.function(rng)
        before = set(f.nodes)
        numbers = Numbers(edit.tools.book, edit.adapters, edit.b, f)
        roll = rng.random()
        if not (
            numbers.replace_literal(rng) if roll < 0.7 else numbers.unsized(rng) if roll < 0.9
            else numbers.assert_something(rng)
        ):  # fmt: skip
            raise Rejected("no place for a number")
        for node in [n for n in leaves(f) if n not in before and not is_used(f, n)]:
            add_result(f, node, rng)
        edit.b.stale = True
        return True
