"""Attributes: left out, or False, 0, 1, 2, -1 where they are negative."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch.fx as fx

from ...ir.builtins import BUILTINS
from ...ir.program import Program, op_of, spelling_of
from ...mutators.change_constant import count, is_number
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction

# The simplest first; a value may become one that stands before it. Two: what one would make trivial.
NUMBERS = (0, 1, 2)
TUPLES = 8


@reducer("simplify_attributes", order=120)
class SimplifyAttributes:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        found = []
        for f in program.functions:
            for node in f.body:
                if op_of(node) not in BUILTINS:
                    found += [
                        Change(f"{f.name}.{node.name}.{where}", f"{op_of(node)}: {how}",
                               partial(_set, f.name, node.name, args, kwargs))
                        for where, how, args, kwargs in _simpler(node)
                    ]  # fmt: skip
        return found


def _simpler(node: fx.Node) -> list[tuple[str, str, tuple[Any, ...], dict[str, Any]]]:
    """(where, how, args, kwargs)."""
    args: tuple[Any, ...] = tuple(node.args)
    kwargs: dict[str, Any] = dict(node.kwargs)
    found: list[tuple[str, str, tuple[Any, ...], dict[str, Any]]] = []
    for name in kwargs:
        found.append((name, f"no {name}", args, {k: v for k, v in kwargs.items() if k != name}))
    if args and len(args) > 1:
        found.append(("last", f"no {args[-1]}", args[:-1], kwargs))
    for at, value in enumerate(args):
        found += [(str(at), how, (*args[:at], new, *args[at + 1 :]), kwargs) for how, new in simpler(value)]
    for name, value in kwargs.items():
        found += [(name, f"{name} = {how}", args, {**kwargs, name: new}) for how, new in simpler(value)]
    return found


def simpler(value: Any) -> list[tuple[str, Any]]:
    """Simpler values of one argument: how it reads, and the value."""
    if isinstance(value, tuple | list) and 0 < count(value) <= TUPLES:
        found = [(f"{v} at {i} of {value}", _like(value, i, v)) for i, old in enumerate(value) for v in _numbers(old)]
        if len(value) > 1:
            found += [(f"{value} without {i}", _like(value, i)) for i in range(len(value))]
        return found
    return [(f"{new} for {value}", new) for new in _numbers(value)]


def _numbers(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [False] if value else []
    if not is_number(value):
        return []
    kind = type(value)
    negative = kind is not complex and value < 0
    tries = [kind(n) for n in ((0, -1) if negative else NUMBERS)]
    names = [repr(n) for n in tries]
    return tries[: names.index(repr(value))] if repr(value) in names else tries


def _like(value: Any, at: int, *new: Any) -> Any:
    items = [*value[:at], *new, *value[at + 1 :]]
    return tuple(items) if isinstance(value, tuple) else items


def _set(function: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], edit: Reduction) -> None:
    f, node = edit.find(function, name)
    mine = [edit.own(f, part) for part in (args, kwargs)]
    f.set_call(node, op_of(node), mine[0], mine[1], spelling_of(node))
