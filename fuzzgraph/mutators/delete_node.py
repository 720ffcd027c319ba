"""Delete a node; its users take one of its operands, or another value, instead."""

from __future__ import annotations

from random import Random
from typing import Any

import torch.fx as fx

from ..ir.builder import FunctionBuilder, Rejected
from ..ir.program import Program, type_of
from ..ir.types import ScalarType, TensorType
from ..ir.typing import operands
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools


@mutator("delete_node", weight=1.5)
class DeleteNode:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        f, node = edit.choose(edit.has_rule, rng)
        if len(f.body) < 2:
            raise Rejected("the last node stays")
        for item in [n for n in node.users if n.meta.get("op") == "getitem"]:
            _bypass(edit, f, item, node, rng)
        _bypass(edit, f, node, node, rng)
        return True


def _bypass(edit: Edit, f: FunctionBuilder, node: fx.Node, owner: fx.Node, rng: Random) -> None:
    """Erase a value; what used it uses an operand of the node that owns it, made to fit."""
    kind = type_of(node)
    if node.users or node in operands(f.result):
        if isinstance(kind, ScalarType):
            f.replace_uses(node, _number(kind, owner, rng))
            f.erase(node)
            return
        if not isinstance(kind, TensorType):
            raise Rejected(f"{node.name} is no tensor")
        order = {n: i for i, n in enumerate(f.nodes)}
        mine = [n for n in owner.all_input_nodes if isinstance(type_of(n), TensorType)]
        earlier = [n for n in f.nodes if order[n] < order[owner] and isinstance(type_of(n), TensorType)]
        choices = mine if mine and rng.random() < 0.8 else earlier
        if not choices:
            raise Rejected("nothing to use instead")
        by = rng.choice(choices)
        if rng.random() < 0.7:
            by = edit.fitted(f, by, kind, rng, node)
        f.replace_uses(node, by)
    f.erase(node)


def _number(kind: ScalarType, node: fx.Node, rng: Random) -> Any:
    """What stands for a number that goes: its value, or a number that it was made of."""
    mine = [n for n in node.all_input_nodes if isinstance(type_of(n), ScalarType)]
    if mine and rng.random() < 0.5:
        return rng.choice(mine)
    if kind.value is None:
        raise Rejected(f"{node.name} is of data")
    return kind.value
