"""Swap two arguments of a node, a tensor with a number too, or give it another value of the program."""

from __future__ import annotations

from random import Random

import torch.fx as fx

from ..ir.builder import Rejected
from ..ir.program import Program, type_of
from ..ir.types import TensorType
from . import mutator
from ._edit import Edit, attempt
from .change_constant import is_number
from .tools import Tools


@mutator("swap_operands", weight=1.0)
class SwapOperands:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        f, node = edit.choose(edit.has_rule, rng)
        args = list(node.args)
        places = [i for i, a in enumerate(args) if is_number(a) or _is_tensor(a)]
        tensors = [i for i in places if _is_tensor(args[i])]
        if not tensors:
            raise Rejected("no tensor operand")
        if len(places) > 1 and rng.random() < 0.6:
            first, second = rng.sample(places, 2)
            args[first], args[second] = args[second], args[first]
        else:
            place = rng.choice(tensors)
            earlier = _earlier(f.nodes, node)
            args[place] = rng.choice(earlier)
        if args == list(node.args):
            raise Rejected("equal operands")
        op = str(node.meta["op"])
        f.set_call(node, op, tuple(args), dict(node.kwargs), edit.adapters.spelling(op, tuple(args), node.kwargs, rng))
        return True


def _is_tensor(value: object) -> bool:
    return isinstance(value, fx.Node) and isinstance(type_of(value), TensorType)


def _earlier(nodes: list[fx.Node], node: fx.Node) -> list[fx.Node]:
    return [n for n in nodes[: nodes.index(node)] if _is_tensor(n)]
