"""Give one non-tensor argument of a node another value of its domain."""

from __future__ import annotations

from random import Random

import torch.fx as fx

from ..ir.builder import Rejected
from ..ir.program import Program, root_of, type_of
from ..ir.types import TensorType
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools


@mutator("change_attribute", weight=2.0)
class ChangeAttribute:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        f, node = edit.choose(edit.has_rule, rng)
        op = str(node.meta["op"])
        found = edit.tools.book.rules[op].resample_attribute(tuple(node.args), dict(node.kwargs), rng, _type)
        if found is None:
            raise Rejected(f"{op} has no attribute to change")
        args, kwargs = found
        f.set_call(node, op, args, kwargs, edit.adapters.spelling(op, args, kwargs, rng))
        return True


def _type(value: object) -> object:
    """The rooted type of an operand; other arguments as they are."""
    if not isinstance(value, fx.Node):
        return value
    kind = type_of(value)
    return kind.with_(alias=root_of(value)) if isinstance(kind, TensorType) else kind
