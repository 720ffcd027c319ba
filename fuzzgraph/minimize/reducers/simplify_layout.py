"""Layout of inputs: contiguous, no offset, storage of their own and no more of it than needed, no dynamic dims."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ...ir.program import InputSpec, Program
from ...ir.types import contiguous_strides
from ...ir.values import Values, default_kind
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction


@reducer("simplify_layout", order=90)
class SimplifyLayout:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        found = []
        for spec in (*program.inputs, *program.constants):
            simpler = _simpler(spec)
            if len(simpler) > 1:
                # All of it at once: most often none of it matters.
                everything = {k: v for _, changes in simpler for k, v in changes.items()}
                found.append(_change(spec, "plain", everything))
            found += [_change(spec, how, changes) for how, changes in simpler]
        return found


def _simpler(spec: InputSpec) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    kind = spec.type
    if spec.view_of is not None:
        found.append(("no view", {"view_of": None, "values": Values(default_kind(kind.dtype))}))
    if kind.stride != contiguous_strides(kind.shape):
        found.append(("contiguous", {"stride": contiguous_strides(kind.shape)}))
    if kind.offset:
        found.append(("without offset", {"offset": 0}))
    if spec.storage is not None:
        found.append(("no larger storage", {"storage": None}))
    if spec.dynamic:
        found.append(("no dynamic dims", {"dynamic": ()}))
    return found


def _change(spec: InputSpec, how: str, changes: dict[str, Any]) -> Change:
    return Change(spec.name, f"{spec.name} {how}", partial(_set, spec.name, changes), joint=True)


def _set(name: str, changes: dict[str, Any], edit: Reduction) -> None:
    spec = edit.b.spec(name)
    layout = {k: v for k, v in changes.items() if k in ("stride", "offset")}
    rest = {k: v for k, v in changes.items() if k not in layout}
    kind = spec.type.with_(**layout)
    storage = rest.pop("storage", spec.storage)
    if storage is not None and storage < kind.extent:
        storage = kind.extent
    edit.b.set_input(name, replace(spec, type=kind, storage=storage, **rest))
