"""Calls of the script: no contexts, not compiled anew, the arguments of the first call."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...ir.program import Call, Program
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction


@reducer("simplify_calls", order=60)
class SimplifyCalls:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        found = []
        for i, call in enumerate(program.calls):
            first = next(c for c in program.calls if c.function == call.function)
            for context in call.contexts:
                less = replace(call, contexts=tuple(c for c in call.contexts if c is not context))
                found.append(_change(i, f"call {i} without {context.name}", less))
            if call.fresh:
                found.append(_change(i, f"call {i} does not compile anew", replace(call, fresh=False)))
            if call.args != first.args:
                found.append(_change(i, f"call {i} with the arguments of the first", replace(call, args=first.args)))
        return found


def _change(at: int, how: str, call: Call) -> Change:
    return Change(f"call {at}", how, partial(_set, at, call), joint=True)


def _set(at: int, call: Call, edit: Reduction) -> None:
    edit.b.calls[at] = call
    edit.b.stale = True
