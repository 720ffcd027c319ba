"""Inputs: another one of equal type, or a number, in place of each."""

from __future__ import annotations

from functools import partial

from ...ir.builder import Rejected
from ...ir.program import Function, Program, type_of
from ...ir.types import TensorType
from ...ir.typing import operands
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction

NUMBER = 1


@reducer("drop_inputs", order=45)
class DropInputs:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        return [change for f in program.functions for change in _of_function(f)]


def _of_function(f: Function) -> list[Change]:
    found = []
    tensors = [n for n in f.graph.nodes if n.op in ("placeholder", "get_attr") and isinstance(type_of(n), TensorType)]
    for i, node in reversed(list(enumerate(tensors))):
        place = f"{f.name}.{node.name}"
        if not node.users:
            continue
        for other in tensors[:i]:
            a, b = type_of(node), type_of(other)
            if isinstance(a, TensorType) and isinstance(b, TensorType) and (a.dtype, a.shape) == (b.dtype, b.shape):
                change = partial(_merge, f.name, node.name, other.name)
                found.append(Change(place, f"{other.name} for {node.name}", change))
        if not any(user.op == "output" for user in node.users):
            found.append(Change(place, f"{NUMBER} for {node.name}", partial(_number, f.name, node.name)))
    return found


def _merge(function: str, name: str, other: str, edit: Reduction) -> None:
    f, node = edit.find(function, name)
    _, by = edit.find(function, other)
    f.replace_uses(node, by)


def _number(function: str, name: str, edit: Reduction) -> None:
    f, node = edit.find(function, name)
    if node in operands(f.result):
        raise Rejected(f"{name} is returned")
    f.replace_uses(node, NUMBER)
