"""Run options: the defaults. And inputs that do not require grad."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ...ir.builder import Rejected
from ...ir.program import Program, RunOptions
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction

OPTIONS = ("mode", "autocast", "inference", "dynamic", "fullgraph", "grad")


@reducer("simplify_options", order=70)
class SimplifyOptions:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        default = RunOptions()
        found = [
            Change(name, f"{name} = {getattr(default, name)}", partial(_set, name, getattr(default, name)), joint=True)
            for name in OPTIONS
            if getattr(program.options, name) != getattr(default, name)
        ]
        for spec in (*program.inputs, *program.constants):
            if spec.type.requires_grad:
                found.append(Change(spec.name, f"{spec.name} without grad", partial(_no_grad, spec.name), joint=True))
        return found


def _set(name: str, value: Any, edit: Reduction) -> None:
    edit.b.set_options(**{name: value})
    edit.b.stale = True


def _no_grad(name: str, edit: Reduction) -> None:
    try:
        spec = edit.b.spec(name)
    except KeyError as error:
        raise Rejected(f"{name} is gone") from error
    edit.b.set_input(name, replace(spec, type=spec.type.with_(requires_grad=False)))
