"""Replace a number among the arguments of a node by an edge value, within what the rule accepts."""

from __future__ import annotations

from random import Random
from typing import Any

import torch.fx as fx

from ..ir.builder import Rejected
from ..ir.program import Program
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools

INTS = (0, 1, -1, 2, 3, 7, 16, 127, 128, 255, -128, 2**15, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**62))
# Inside tuples there are sizes, dims and strides: only small steps keep them meaningful.
STEPS = (-2, -1, 1, 2)
FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-8, 1e-30, 1e-45, 1e30, 3e38, 65504.0, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
COMPLEX = (0j, 1j, -1 + 0j, complex(0.0, float("inf")), complex(float("nan"), 1.0))
DRAWS = 6


@mutator("change_constant", weight=1.5)
class ChangeConstant:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        f, node = edit.choose(lambda n: edit.has_rule(n) and count((n.args, dict(n.kwargs))) > 0, rng)
        op, chosen = str(node.meta["op"]), rng.randrange(count((node.args, dict(node.kwargs))))
        for _ in range(DRAWS):
            args, kwargs = Replacing(chosen, rng).walk((tuple(node.args), dict(node.kwargs)), depth=-1)
            if repr((args, kwargs)) == repr((tuple(node.args), dict(node.kwargs))):
                continue
            try:
                f.set_call(node, op, args, kwargs, edit.adapters.spelling(op, args, kwargs, rng))
            except Rejected:
                continue
            return True
        raise Rejected("no other value is accepted")


def is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex)


def count(value: Any) -> int:
    """How many numbers a structure holds."""
    if isinstance(value, tuple | list):
        return sum(map(count, value))
    if isinstance(value, dict):
        return sum(map(count, value.values()))
    return int(is_number(value))


class Replacing:
    """Copies a structure with the number at one position replaced."""

    def __init__(self, position: int, rng: Random) -> None:
        self.left, self.rng = position, rng

    def walk(self, value: Any, depth: int) -> Any:
        """`depth`: below 1 outside of tuples that are arguments."""
        if isinstance(value, fx.Node) or not isinstance(value, tuple | list | dict):
            return self._number(value, depth) if is_number(value) else value
        if isinstance(value, dict):
            return {k: self.walk(v, depth + 1) for k, v in value.items()}
        items = [self.walk(v, depth + 1) for v in value]
        return tuple(items) if isinstance(value, tuple) else items

    def _number(self, value: Any, depth: int) -> Any:
        self.left -= 1
        if self.left != -1:
            return value
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            if depth > 1:
                return value + self.rng.choice(STEPS)
            return self.rng.choice((*INTS, *(value + s for s in STEPS), *FLOATS[:4]))
        return self.rng.choice(FLOATS if isinstance(value, float) else COMPLEX)
