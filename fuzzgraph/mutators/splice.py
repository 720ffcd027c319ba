"""Splice in a subgraph of another entry: its leaves become values of this program, or inputs of their own."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import torch.fx as fx
from torch.fx.node import map_arg

from ..ir.builder import FunctionBuilder, Rejected
from ..ir.program import InputSpec, Program, spelling_of, type_of
from ..ir.types import SequenceType, TensorType
from ..ir.values import Values, default_kind
from . import mutator
from ._edit import Edit, attempt, tensors
from ._grow import wire
from .tools import Tools

MAX_NODES = 6
REUSE_SHARE = 0.6


@mutator("splice", weight=1.5)
class Splice:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        other = tools.other(rng)

        def change(edit: Edit, rng: Random) -> bool:
            return self._change(edit, other, rng)

        return attempt(program, rng, tools, change)

    def _change(self, edit: Edit, other: Program, rng: Random) -> bool:
        roots = [n for n in other.nodes() if isinstance(type_of(n), TensorType) and _has_rules(edit, n)]
        if not roots:
            raise Rejected("the other entry has nothing to take")
        root = rng.choice(roots)
        f = edit.function(rng)
        copies: dict[fx.Node, Any] = {}
        for node in _subgraph(edit, root, rng):
            operands = {n: self._operand(edit, f, other, n, copies, rng) for n in node.all_input_nodes}
            args, kwargs = map_arg((tuple(node.args), dict(node.kwargs)), operands.__getitem__)
            copies[node] = f.op(str(node.meta["op"]), args, dict(kwargs), spelling=spelling_of(node))
        edit.bind_new_inputs(f)
        wire(edit, f, copies[root], rng)
        return True

    def _operand(
        self, edit: Edit, f: FunctionBuilder, other: Program, node: fx.Node, copies: dict[fx.Node, Any], rng: Random
    ) -> fx.Node:
        """What stands for an operand here: its copy, a value that is made to fit, or a copy of the other's input."""
        if node in copies:
            found: fx.Node = copies[node]
            return found
        kind = type_of(node)
        if not isinstance(kind, TensorType):
            raise Rejected(f"{node.name} is no tensor")
        if rng.random() < REUSE_SHARE or not edit.is_open(f):
            mine = list(tensors(f))
            copies[node] = edit.fitted(f, rng.choice(mine), kind, rng, None)
        else:
            spec = _spec_of(other, node, kind)
            name = edit.b.fresh_name("x")
            grad = spec.type.requires_grad and edit.b.options.grad
            edit.b.add_input(replace(spec, name=name, type=spec.type.with_(requires_grad=grad), view_of=None))
            copies[node] = f.add_placeholder(name, edit.b.spec(name).type)
        made: fx.Node = copies[node]
        return made


def _has_rules(edit: Edit, node: fx.Node) -> bool:
    return edit.has_rule(node) or (node.meta["op"] == "getitem" and edit.has_rule(node.all_input_nodes[0]))


def _subgraph(edit: Edit, root: fx.Node, rng: Random) -> list[fx.Node]:
    """The root and some of what it is computed from, in order. Tuples come whole."""
    chosen = {root}
    limit = rng.randint(1, MAX_NODES)
    queue = [root]
    while queue:
        for operand in queue.pop(0).all_input_nodes:
            takes = operand.op == "call_function" and operand not in chosen and _has_rules(edit, operand)
            if takes and (len(chosen) < limit or isinstance(type_of(operand), SequenceType)):
                chosen.add(operand)
                queue.append(operand)
    return [n for n in root.graph.nodes if n in chosen]


def _spec_of(other: Program, node: fx.Node, kind: TensorType) -> InputSpec:
    """The spec of the input that a placeholder has the name of; else a plain one of the same type."""
    for spec in (*other.inputs, *other.constants):
        if spec.name == str(node.target) and spec.type.dtype == kind.dtype and spec.type.shape == kind.shape:
            return spec
    return InputSpec("x", kind.with_(alias=None), Values(default_kind(kind.dtype)))
