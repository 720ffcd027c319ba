"""Adding a call of a rule to a function, and using its result."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import torch.fx as fx

from ..grammar.rule import Rule
from ..ir.builder import FunctionBuilder, Rejected
from ..ir.program import type_of
from ..ir.types import TensorType
from ..ir.typing import operands
from ._edit import Edit, add_result, substitute

RULE_TRIES = 8


def grow(
    edit: Edit, f: FunctionBuilder, before: fx.Node | None, prefer: fx.Node | None, rng: Random,
    rules: Sequence[Rule] = (), chained: bool = False,
) -> fx.Node:  # fmt: skip
    """Add a call of a random rule (of `rules`, if there are any), on `prefer` if given; with `chained`, mostly of a
    pointwise one that stays in the dtype. Raises Rejected."""
    source, generator = edit.source(f, before, prefer), edit.tools.generator
    source.fused = chained
    if chained or rng.random() < generator.profile.theme:
        # One of the dtypes that are there, so that a program with a theme keeps it.
        values = [prefer] if prefer is not None else source.values()
        kind = type_of(rng.choice(values)) if values else None
        source.theme = kind.dtype if isinstance(kind, TensorType) else None
    for _ in range(RULE_TRIES):
        rule = rng.choice(rules) if rules else generator.rule(rng, source.theme, chained)
        node = generator.add(rule, edit.b, f, source, rng)
        if node is not None and prefer is not None and not depends(node, prefer):
            source.settle()
        elif node is not None:
            edit.bind_new_inputs(f)
            return node
    raise Rejected("no rule applies")


def depends(node: fx.Node, on: fx.Node) -> bool:
    """Whether a value is computed from another."""
    seen, todo = {node}, [node]
    while todo:
        fresh = set(todo.pop().all_input_nodes) - seen
        seen |= fresh
        todo += fresh
    return on in seen


def tensor_results(f: FunctionBuilder, node: fx.Node) -> list[fx.Node]:
    """The tensors that a new node made: itself, or the items taken from it."""
    return [n for n in (node, *node.users) if isinstance(type_of(n), TensorType) and (n is node or not n.users)]


def wire(edit: Edit, f: FunctionBuilder, node: fx.Node, rng: Random) -> None:
    """Use a value: as an operand of a later node, in place of one of its own, or as a further result."""
    order = {n: i for i, n in enumerate(f.nodes)}
    later = [n for n in f.body if order[n] > order[node] and _tensors(n) and node not in n.all_input_nodes]
    if later and rng.random() < 0.6:
        user = rng.choice(later)
        old = rng.choice(_tensors(user))
        new = edit.fitted(f, node, type_of(old), rng, user)  # type: ignore[arg-type]
        substitute(user, {old: new})
        edit.b.stale = True
    else:
        add_result(f, node, rng)


def _tensors(node: fx.Node) -> list[fx.Node]:
    return [n for n in operands((node.args, dict(node.kwargs))) if isinstance(type_of(n), TensorType)]
