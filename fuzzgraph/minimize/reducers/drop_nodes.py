"""Nodes: erased where nothing uses them, else replaced by an operand, an input, a new input of their type, a number."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch.fx as fx
from torch.fx.node import map_arg

from ...ir.builder import Rejected
from ...ir.program import Function, Program, op_of, type_of
from ...ir.types import ScalarType, TensorType
from ...ir.typing import operands
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction, call_types, fresh_type

NUMBER = 1
# What stands for numbers of data.
LITERALS: Mapping[str, Any] = {"int": 1, "float": 1.0, "bool": True}


@reducer("drop_nodes", order=40)
class DropNodes:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        found = []
        for f in program.functions:
            types = call_types(program, tools, f.name)
            # The last ones first: what only they used goes along.
            for node in reversed(f.body):
                found += _of_node(f, node, types.get(node.name, []), program.options.grad)
        return found


def _of_node(f: Function, node: fx.Node, types: list[TensorType], grad: bool) -> list[Change]:
    place, kind = f"{f.name}.{node.name}", type_of(node)
    if not node.users:
        return [Change(place, f"no {op_of(node)}", partial(_erase, f.name, node.name), joint=True)]
    if isinstance(kind, ScalarType):
        return _of_number(f, node, kind)
    if not isinstance(kind, TensorType):
        return _of_items(f, node)
    found = []
    mine = [n for n in dict.fromkeys(operands((node.args, dict(node.kwargs)))) if isinstance(type_of(n), TensorType)]
    params = [n for n in f.placeholders if n not in mine and isinstance(type_of(n), TensorType)]
    # What looks the same, then a new input, which cuts off all that leads here, then what may fit nonetheless.
    alike = [n for n in mine if _alike(n, kind)]
    others = [n for n in mine if n not in alike]
    for other in alike:
        found.append(_by(f, node, other))
    found += _by_fresh_input(f, node, types, grad)
    for other in (*others, *(p for p in params if _alike(p, kind))):
        found.append(_by(f, node, other))
    if len(mine) > 1 and all(user.op == "output" for user in node.users):
        how = f"what {op_of(node)} takes for it"
        found.append(Change(place, how, partial(_replace_by_operands, f.name, node.name)))
    if not any(user.op == "output" for user in node.users):
        number = partial(_replace_by_number, f.name, node.name, NUMBER)
        found.append(Change(place, f"{NUMBER} for {op_of(node)}", number))
    return found


def _of_number(f: Function, node: fx.Node, kind: ScalarType) -> list[Change]:
    """A Python number: its value where that follows from types, else a literal; then a number that it was made of."""
    place = f"{f.name}.{node.name}"
    value = kind.value if kind.value is not None else LITERALS.get(kind.kind)
    mine = [n for n in dict.fromkeys(operands((node.args, dict(node.kwargs)))) if isinstance(type_of(n), ScalarType)]
    found = [] if value is None else [
        Change(place, f"{value} for {op_of(node)}", partial(_replace_by_number, f.name, node.name, value), joint=True)
    ]  # fmt: skip
    return [*found, *(_by(f, node, other) for other in mine)]


def _of_items(f: Function, node: fx.Node) -> list[Change]:
    """A node whose value is no tensor, as `split`: its items are replaced one by one, the pair of both at once."""
    mine = [n for n in operands((node.args, dict(node.kwargs))) if isinstance(type_of(n), TensorType)]
    place = f"{f.name}.{node.name}"
    if not mine or any(user.meta.get("op") != "getitem" for user in node.users if user.op != "output"):
        return []
    how = f"{mine[0].name} for all items of {op_of(node)}"
    return [Change(place, how, partial(_replace_items, f.name, node.name, mine[0].name))]


def _by(f: Function, node: fx.Node, other: fx.Node) -> Change:
    change = partial(_replace, f.name, node.name, other.name)
    return Change(f"{f.name}.{node.name}", f"{other.name} for {node.name} = {op_of(node)}", change)


def _by_fresh_input(f: Function, node: fx.Node, types: list[TensorType], grad: bool) -> list[Change]:
    if not types:
        return []
    found = []
    plain = [fresh_type(t, grad) for t in types]
    as_it_is = [fresh_type(t, grad, keep_layout=True) for t in types]
    place, how = f"{f.name}.{node.name}", f"an input for {node.name} = {op_of(node)}"
    found.append(Change(place, how, partial(_replace_by_input, f.name, node.name, plain), joint=True))
    if as_it_is != plain:
        how += ", laid out like it"
        found.append(Change(place, how, partial(_replace_by_input, f.name, node.name, as_it_is)))
    return found


def _alike(node: fx.Node, kind: TensorType) -> bool:
    mine = type_of(node)
    return isinstance(mine, TensorType) and (mine.dtype, mine.shape) == (kind.dtype, kind.shape)


def _erase(function: str, name: str, edit: Reduction) -> None:
    f, node = edit.find(function, name)
    f.erase(node)


def _replace(function: str, name: str, other: str, edit: Reduction) -> None:
    f, node = edit.find(function, name)
    _, by = edit.find(function, other)
    edit.replace(f, node, by)


def _replace_by_operands(function: str, name: str, edit: Reduction) -> None:
    f, node = edit.find(function, name)
    given = tuple(dict.fromkeys(n for n in node.all_input_nodes if isinstance(type_of(n), TensorType)))
    f.returns(map_arg(f.result, lambda n: given if n is node else n))
    f.erase(node)
    edit.b.stale = True


def _replace_items(function: str, name: str, other: str, edit: Reduction) -> None:
    f, node = edit.find(function, name)
    _, by = edit.find(function, other)
    for item in list(node.users):
        edit.replace(f, item, by)
    edit.replace(f, node, by)


def _replace_by_input(function: str, name: str, types: list[TensorType], edit: Reduction) -> None:
    f, node = edit.find(function, name)
    edit.replace(f, node, edit.input_like(f, types))


def _replace_by_number(function: str, name: str, by: Any, edit: Reduction) -> None:
    f, node = edit.find(function, name)
    if node in operands(f.result):
        raise Rejected(f"{name} is returned")
    edit.replace(f, node, by)
