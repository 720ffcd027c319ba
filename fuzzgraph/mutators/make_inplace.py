"""Turn an operator into its in-place variant, which writes its first operand."""

from __future__ import annotations

from random import Random

import torch.fx as fx

from ..ir.program import Program
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools


@mutator("make_inplace", weight=2.0)
class MakeInplace:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        rules = edit.tools.book.rules
        f, node = edit.choose(lambda n: edit.has_rule(n) and rules[str(n.meta["op"])].inplace_op in rules, rng)
        op = rules[str(node.meta["op"])].inplace_op
        assert op is not None
        known = rules[op].param
        kwargs = {k: v for k, v in node.kwargs.items() if k in known}
        args = tuple(node.args)
        if args and isinstance(args[0], fx.Node) and rng.random() < 0.25:
            # A write to a copy, which the compiler may drop or reorder.
            copy = edit.adapters.apply("copy", f, rng, node, x=args[0])
            args = (copy if copy is not None else args[0], *args[1:])
        f.set_call(node, op, args, kwargs, edit.adapters.spelling(op, args, kwargs, rng))
        return True
