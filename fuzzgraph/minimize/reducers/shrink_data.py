"""Elements of inputs, written out: the few that matter, zeros, numbers that can be read."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ...ir.program import InputSpec, Program
from ...ir.types import DTYPES, tensor
from ...ir.values import Values
from ...mutators.tools import Tools
from ...render import render
from .. import Change, reducer
from .._reduction import Reduction
from .simplify_values import complexity

# A longer list is no simpler to read than a distribution's name.
LISTED = 8
# Elements of a storage, at most, in which those that matter are looked for.
STORAGE = 64
# Into so many parts, at most, it is cut to find them.
PARTS = 8


@reducer("shrink_data", order=150)
class ShrinkData:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        found = []
        for spec in (*program.inputs, *program.constants):
            if spec.view_of is not None or DTYPES[spec.type.dtype].kind == "complex":
                continue
            tries = _elements(spec) if spec.values.kind in ("data", "full") else _written_out(spec)
            found += [
                Change(place, f"{spec.name}: {how}", partial(_set, spec.name, values), joint=False)
                for place, how, values in tries
            ]
        return found


def _written_out(spec: InputSpec) -> list[tuple[str, str, Values]]:
    """A few elements instead of a distribution: repeated, or with zeros around them."""
    size = max(spec.storage or 0, spec.type.extent)
    if complexity(spec.values) <= complexity(Values("data", (0,))) or not 0 < size <= STORAGE:
        return []
    elements = storage(spec, size)
    found = []
    for count in (1, 2, 4):
        if count <= size:
            some = tuple(map(rounded, elements[:count]))
            found.append((spec.name, f"{list(some)} over and over", listed(some)))
    parts = 2
    while size // parts and parts <= PARTS:
        width = -(-size // parts)
        for low in range(0, size, width):
            kept = tuple(e if low <= i < low + width else 0 for i, e in enumerate(elements))
            if sum(map(bool, kept)) <= LISTED:
                found.append((spec.name, f"zeros but for {low} to {low + width - 1}", listed(kept)))
        parts *= 2
    if size <= LISTED:
        found.append((spec.name, "written out", listed(tuple(elements))))
    return found


def _elements(spec: InputSpec) -> list[tuple[str, str, Values]]:
    """Simpler lists than the one that there is."""
    values = spec.values.params
    if spec.values.kind == "full" and values in ((), (0,), (1,)):
        return []
    found = []
    if len(values) > 1:
        counts = dict.fromkeys((1, len(values) // 2, len(values) - 1))
        found += [(spec.name, f"the first {n} elements", values[:n]) for n in counts]
    for i, value in enumerate(values):
        for new in _simpler(value):
            found.append((f"{spec.name}[{i}]", f"{new} for {value}", (*values[:i], new, *values[i + 1 :])))
    return [(place, how, listed(params)) for place, how, params in found]


def listed(params: tuple[Any, ...]) -> Values:
    """These elements over and over."""
    return Values("full", params[:1]) if len(set(map(repr, params))) == 1 else Values("data", params)


def _simpler(value: Any) -> list[Any]:
    tries = [0, 1, rounded(value), round(value, 1) if isinstance(value, float) and math.isfinite(value) else value]
    rank = _rank(value)
    return list(dict.fromkeys(type(value)(v) for v in tries if _rank(v) < rank))


def _rank(value: Any) -> tuple[int, int]:
    """Zero, one, then by how much there is to read; what is not finite is not simpler than anything."""
    if isinstance(value, float) and not math.isfinite(value):
        return 3, 0
    if value in (0, 1) and repr(float(value)) in ("0.0", "1.0"):
        return int(value), 0
    return 2, len(f"{abs(value):g}" if float(f"{value:g}") == value else repr(abs(value))) + (value < 0)


def rounded(value: Any) -> Any:
    """A whole number near it, away from zero."""
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return float(math.copysign(math.ceil(abs(value)), value))


def storage(spec: InputSpec, size: int) -> list[Any]:
    """All elements of an input's storage."""
    plain = replace(spec, type=tensor(spec.type.dtype, (size,)), storage=None, dynamic=())
    # No code of the program itself: nothing but the input is rendered.
    scope: dict[str, Any] = {}
    exec(compile(render(Program(inputs=(plain,))).source, "<inputs>", "exec"), scope)
    made: torch.Tensor = scope["make_inputs"]()[spec.name]
    return list(made.tolist())


def _set(name: str, values: Values, edit: Reduction) -> None:
    edit.b.set_input(name, replace(edit.b.spec(name), values=values))
