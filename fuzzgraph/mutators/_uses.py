"""Uses of tensors: an operand of a node, or a place in what a function returns."""

from __future__ import annotations

import torch.fx as fx
from torch.fx.node import map_arg

from ..ir.builder import FunctionBuilder, Rejected
from ..ir.program import type_of
from ..ir.types import TensorType
from ..ir.typing import operands
from ._edit import Edit, substitute

# The user is None for what a function returns.
Use = tuple[FunctionBuilder, "fx.Node | None", fx.Node]


def uses(edit: Edit) -> list[Use]:
    """All uses of tensors by operators that have rules, and by results. Raises Rejected where there are none."""
    found: list[Use] = []
    for f in edit.functions():
        for node in f.body:
            if edit.has_rule(node):
                found += [(f, node, n) for n in operands((node.args, dict(node.kwargs)))]
        found += [(f, None, n) for n in operands(f.result)]
    found = [u for u in found if isinstance(type_of(u[2]), TensorType)]
    if not found:
        raise Rejected("no tensor is used")
    return found


def replace_use(f: FunctionBuilder, user: fx.Node | None, old: fx.Node, new: fx.Node) -> None:
    """Let one user (None: the result) use another value."""
    if user is None:
        f.returns(map_arg(f.result, lambda n: new if n is old else n))
        return
    substitute(user, {old: new})
