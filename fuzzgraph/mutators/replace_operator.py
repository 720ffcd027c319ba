"""Replace an operator by one of equal signature class on the same operands."""

from __future__ import annotations

from random import Random

from ..ir.builder import Rejected
from ..ir.program import Program
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools

CANDIDATES = 8


@mutator("replace_operator", weight=2.0)
class ReplaceOperator:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        f, node = edit.choose(edit.has_rule, rng)
        others = edit.tools.book.similar(str(node.meta["op"]))
        for op in rng.sample(others, min(CANDIDATES, len(others))):
            kwargs = dict(node.kwargs)
            if rng.random() < 0.5:
                kwargs = {k: v for k, v in kwargs.items() if k in edit.tools.book.rules[op].param}
            spelling = edit.adapters.spelling(op, node.args, kwargs, rng)
            try:
                f.set_call(node, op, node.args, kwargs, spelling)
            except Rejected:
                continue
            return True
        raise Rejected("no similar operator takes these operands")
