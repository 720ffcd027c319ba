"""Everything after one node, left out: the function returns what that node makes."""

from __future__ import annotations

from functools import partial

from ...ir.program import Program, type_of
from ...ir.types import SequenceType, TensorType
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction


@reducer("cut_tail", order=20)
class CutTail:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        found = []
        for function in program.functions:
            names = [n.name for n in function.body]
            found += [Change(function.name, f"end with {names[i]}", partial(_cut, function.name, names[i]))
                      for i in halving(len(names) - 1)]  # fmt: skip
        return found


def halving(count: int) -> list[int]:
    """0..count-1, those in the middle of what is left first."""
    found: list[int] = []
    spans = [(0, count)]
    while spans:
        low, high = spans.pop(0)
        if low < high:
            middle = (low + high) // 2
            found.append(middle)
            spans += [(low, middle), (middle + 1, high)]
    return found


def _cut(function: str, name: str, edit: Reduction) -> None:
    f, node = edit.find(function, name)
    f.returns(node if isinstance(type_of(node), TensorType | SequenceType) else None)
    body = f.body
    for later in reversed(body[body.index(node) + 1 :]):
        f.erase(later)
    edit.b.stale = True
