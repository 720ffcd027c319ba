"""Spellings: each operator as the function it is."""

from __future__ import annotations

from functools import partial

from ...ir.program import Program, op_of, spelling_of
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction


@reducer("simplify_spellings", order=130)
class SimplifySpellings:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        return [
            Change(f"{f.name}.{node.name}", f"{op_of(node)} not as {spelling_of(node)}",
                   partial(_plain, f.name, node.name), joint=True)
            for f in program.functions
            for node in f.body
            if spelling_of(node) is not None
        ]  # fmt: skip


def _plain(function: str, name: str, edit: Reduction) -> None:
    _, node = edit.find(function, name)
    node.meta.pop("spelling", None)
