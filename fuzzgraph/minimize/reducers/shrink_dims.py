"""Sizes: smaller, in all inputs and in the attributes that say the same size; fewer dims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch.fx as fx

from ...generate.script import grown_index, resized
from ...ir.program import InputSpec, Program
from ...ir.types import contiguous_strides
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction

# From here on one less is no progress worth an execution.
LARGE = 80


@reducer("shrink_dims", order=110)
class ShrinkDims:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        specs = [*program.inputs, *program.constants]
        found = []
        for size in sorted({n for s in specs for n in s.type.shape}, reverse=True):
            for new in smaller(size):
                how = f"{new} for {size}"
                if _mentions(program, size):
                    found.append(Change(how, f"{how} everywhere", partial(_resize, size, new, True)))
                found.append(Change(how, f"{how} in inputs", partial(_resize, size, new, False)))
        for spec in specs:
            for dim, size in enumerate(spec.type.shape):
                place = f"{spec.name} dim {dim}"
                if spec.view_of is None:
                    found.append(Change(place, f"{spec.name} without dim {dim}", partial(_drop_dim, spec.name, dim)))
                    found += [Change(place, f"{place} of {n}", partial(_one_dim, spec.name, dim, n))
                              for n in smaller(size)[:2]]  # fmt: skip
        top = max((s.type.rank for s in specs), default=0)
        for dim in (0, -1) if top else ():
            names = tuple(s.name for s in specs if s.type.rank == top and s.view_of is None)
            if len(names) > 1:
                found.append(Change("rank", f"no dim {dim} in {', '.join(names)}", partial(_drop_dims, names, dim)))
        return found


def smaller(size: int) -> list[int]:
    """Sizes to try instead: boldly first."""
    tries = [1, 2, size // 2, size * 3 // 4, *([size - 1] if size < LARGE else [size * 7 // 8])]
    return list(dict.fromkeys(n for n in tries if 1 <= n < size))


def _resize(old: int, new: int, attributes: bool, edit: Reduction) -> None:
    for spec in (*edit.b.inputs, *edit.b.constants):
        edit.b.set_input(spec.name, grown_index(resized(spec, old, new), old, new))
    if not attributes:
        return
    for f in edit.functions():
        for node in f.body:
            args, kwargs = replaced((tuple(node.args), dict(node.kwargs)), lambda n: new if n == old else n)
            if repr((args, kwargs)) != repr((tuple(node.args), dict(node.kwargs))):
                # Types may fit only once all nodes are changed: they are inferred at the end.
                node.args, node.kwargs = args, kwargs
    edit.b.stale = True


def replaced(value: Any, change: Callable[[int], int]) -> Any:
    """A structure with its integers changed."""
    if isinstance(value, bool | fx.Node):
        return value
    if isinstance(value, int):
        return change(value)
    if isinstance(value, tuple | list):
        items = [replaced(v, change) for v in value]
        return tuple(items) if isinstance(value, tuple) else items
    return {k: replaced(v, change) for k, v in value.items()} if isinstance(value, dict) else value


def _mentions(program: Program, size: int) -> bool:
    found: list[bool] = []

    def look(n: int) -> int:
        found.append(n == size)
        return n

    for node in program.nodes():
        replaced((tuple(node.args), dict(node.kwargs)), look)
    return any(found)


def _one_dim(name: str, dim: int, new: int, edit: Reduction) -> None:
    spec = edit.b.spec(name)
    shape = (*spec.type.shape[:dim], new, *spec.type.shape[dim + 1 :])
    edit.b.set_input(name, _of_shape(spec, shape))


def _drop_dim(name: str, dim: int, edit: Reduction) -> None:
    spec = edit.b.spec(name)
    shape = list(spec.type.shape)
    del shape[dim]
    edit.b.set_input(name, _of_shape(spec, tuple(shape)))


def _drop_dims(names: tuple[str, ...], dim: int, edit: Reduction) -> None:
    for name in names:
        _drop_dim(name, dim, edit)


def _of_shape(spec: InputSpec, shape: tuple[int, ...]) -> InputSpec:
    kind = spec.type.with_(shape=shape, stride=contiguous_strides(shape), offset=0)
    dynamic = tuple(d for d in spec.dynamic if d < len(shape))
    return replace(spec, type=kind, storage=None, dynamic=dynamic)
