"""Dtypes of inputs and dtypes among attributes: f32 or f64 for floats, i64 or i32 for integers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.fx.node import map_aggregate

from ...ir.program import InputSpec, Program, spelling_of
from ...ir.types import DTYPES, FROM_TORCH
from ...ir.values import Values, default_kind, problem
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction

# The simplest first; a dtype may become one that stands before it.
SIMPLER = {"float": ("f32", "f64"), "int": ("i64", "i32"), "complex": ("f32", "c64"), "bool": ()}


def simpler(dtype: str) -> tuple[str, ...]:
    kinds = SIMPLER[DTYPES[dtype].kind]
    return kinds[: kinds.index(dtype)] if dtype in kinds else kinds


@reducer("simplify_dtype", order=100)
class SimplifyDtype:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        specs = [*program.inputs, *program.constants]
        found = []
        for dtype in dict.fromkeys(s.type.dtype for s in specs):
            names = tuple(s.name for s in specs if s.type.dtype == dtype)
            found += [_change(dtype, f"{to} for all {dtype}", names, to) for to in simpler(dtype)]
        for spec in specs:
            if spec.view_of is None:
                family = tuple(s.name for s in specs if spec.name in (s.name, s.view_of))
                found += [
                    _change(spec.name, f"{spec.name} of {to}", family, to) for to in simpler(spec.type.dtype)
                ]  # fmt: skip
        for f in program.functions:
            for node in f.body:
                for dtype in _dtypes_in((node.args, dict(node.kwargs))):
                    for to in simpler(dtype):
                        change = partial(_attribute, f.name, node.name, dtype, to)
                        found.append(Change(f"{f.name}.{node.name}", f"{to} for {dtype} in {node.name}", change))
        return found


def with_dtype(spec: InputSpec, dtype: str) -> InputSpec:
    """The input with another dtype; the distribution of its values is kept where it fits."""
    grad = spec.type.requires_grad and DTYPES[dtype].kind in ("float", "complex")
    values = spec.values if problem(spec.values, dtype) is None else Values(default_kind(dtype))
    return replace(spec, type=spec.type.with_(dtype=dtype, requires_grad=grad), values=values)


def _change(place: str, how: str, names: tuple[str, ...], dtype: str) -> Change:
    return Change(place, how, partial(_set, names, dtype))


def _set(names: tuple[str, ...], dtype: str, edit: Reduction) -> None:
    for name in names:
        edit.b.set_input(name, with_dtype(edit.b.spec(name), dtype))


def _dtypes_in(structure: Any) -> list[str]:
    found: list[str] = []

    def look(value: Any) -> Any:
        if isinstance(value, torch.dtype) and value in FROM_TORCH:
            found.append(FROM_TORCH[value])
        return value

    map_aggregate(structure, look)
    return list(dict.fromkeys(found))


def _attribute(function: str, name: str, old: str, new: str, edit: Reduction) -> None:
    f, node = edit.find(function, name)

    def other(value: Any) -> Any:
        return DTYPES[new].torch_dtype if value is DTYPES[old].torch_dtype else value

    args, kwargs = map_aggregate((tuple(node.args), dict(node.kwargs)), other)
    f.set_call(node, str(node.meta["op"]), tuple(args), dict(kwargs), spelling_of(node))
