"""Values of inputs: ones, zeros, 0 1 2 ..., or the ordinary distribution of their dtype; the seed 0."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...ir.program import InputSpec, Program
from ...ir.values import VALUE_KINDS, Values, default_kind, problem
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction

# What draws ordinary numbers; `edge` and few elements that matter stand after it.
ORDINARY = ("normal", "uniform", "ints", "bools", "index", "permutation", "ties")


@reducer("simplify_values", order=140)
class SimplifyValues:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        return [
            Change(spec.name, f"{spec.name} {said(values)}", partial(_set, spec.name, values), joint=True)
            for spec in (*program.inputs, *program.constants)
            if spec.view_of is None
            for values in simpler(spec)
        ]  # fmt: skip


def simpler(spec: InputSpec) -> list[Values]:
    """Simpler values than an input's own, the simplest first."""
    dtype = spec.type.dtype
    tries = [Values("full", (1,)), Values("full", (0,)), Values("arange"), Values(default_kind(dtype))]
    old = spec.values
    if VALUE_KINDS[old.kind].parameters and old.params and old.kind in ORDINARY:
        tries.append(replace(old, params=()))
    if old.seed:
        tries.append(replace(old, seed=0))
    distinct = dict.fromkeys(tries)
    return [v for v in distinct if problem(v, dtype) is None and complexity(v) < complexity(old)]


def said(values: Values) -> str:
    params = f"({', '.join(map(str, values.params))})" if values.params else ""
    return f"{values.kind}{params}" + (f" seed {values.seed}" if values.seed else "")


def complexity(values: Values) -> tuple[int, int, int]:
    """An order of distributions; the simplest has the least."""
    kinds = ("full", "arange", "data", *ORDINARY)
    rank = kinds.index(values.kind) if values.kind in kinds else len(kinds)
    unusual = 0
    if values.kind == "full":
        unusual = 0 if values.params == (1,) else 1 if values.params == (0,) else 2
    return rank, len(values.params) + unusual, values.seed


def _set(name: str, values: Values, edit: Reduction) -> None:
    edit.b.set_input(name, replace(edit.b.spec(name), values=values))
