"""Calls of the script, each left out."""

from __future__ import annotations

from functools import partial

from ...ir.builder import Rejected
from ...ir.program import Program
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction


@reducer("drop_calls", order=10)
class DropCalls:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        if len(program.calls) < 2:
            return []
        # The later ones first: the first call is what the types of parameters come from.
        return [
            Change(f"call {i}", f"no call {i}", partial(_drop, i), joint=i > 0)
            for i in reversed(range(len(program.calls)))
        ]


def _drop(at: int, edit: Reduction) -> None:
    edit.dead_calls.add(at)
    if len(edit.dead_calls) == len(edit.b.calls):
        raise Rejected("no call is left")
    edit.b.stale = True
