"""Plant a pattern: an instance of what one of the compiler's passes looks for, or what nearly is one.

Half of them are broken by one step: another dtype or a view between two of its nodes, a further user of a value inside,
another attribute. A pass that takes those for its pattern is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import torch.fx as fx

from ..generate.fit import castable
from ..generate.inputs import DTYPE_WEIGHTS, draw_dtype
from ..generate.plant import LeafSource, Planted, plant, switch_on
from ..grammar.patterns import Pattern, lacking
from ..ir.builder import FunctionBuilder, Rejected
from ..ir.program import Program, rooted_types_in, type_of
from ..ir.types import DTYPES, TensorType
from . import mutator
from ._edit import Edit, add_result, attempt, substitute
from ._grow import grow, tensor_results
from .tools import Tools

BROKEN_SHARE = 0.5
# Patterns that are drawn to find one whose operators all have rules.
DRAWS = 24


@mutator("plant_pattern", weight=1.0)
class PlantPattern:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        pattern = choose(edit.tools.patterns.all, edit.tools, rng)
        f = edit.function(rng)
        planted = plant_in(edit, f, pattern, rng)
        if rng.random() < BROKEN_SHARE:
            rng.choice(BREAKS)(edit, f, planted, rng)
        return True


def choose(patterns: Sequence[Pattern], tools: Tools, rng: Random) -> Pattern:
    """A pattern whose operators have rules: a pass first, so that the one with most does not crowd out the rest.

    Raises Rejected where there is none."""
    passes: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        passes.setdefault(pattern.where, []).append(pattern)
    groups = list(passes.values())
    for _ in range(DRAWS if groups else 0):
        (group,) = rng.choices(groups, [len(g) ** 0.5 for g in groups])
        pattern = rng.choice(group)
        if not lacking(pattern, tools.book):
            return pattern
    raise Rejected("no pattern has rules")


def plant_in(edit: Edit, f: FunctionBuilder, pattern: Pattern, rng: Random) -> Planted:
    """The pattern at the end of a function that returns its results, and its pass switched on. Raises Rejected."""
    tools = edit.tools
    switch_on(edit.b, pattern)
    source = LeafSource(
        tools.book, edit.b, f, tools.generator.profile, edit.adapters, grad=edit.b.options.grad,
        fresh_inputs=edit.is_open(f),
    )  # fmt: skip
    planted = plant(pattern, tools.book, f, source, rng)
    edit.bind_new_inputs(f)
    for node in planted.results:
        add_result(f, node, rng)
    return planted


def break_by_cast(edit: Edit, f: FunctionBuilder, planted: Planted, rng: Random) -> None:
    user, operand = _edge(planted, rng)
    kind = _tensor(operand)
    others = [d for d in DTYPE_WEIGHTS if d != kind.dtype and castable(kind.dtype, d)]
    dtype = DTYPES[draw_dtype(others, rng)].torch_dtype
    _replace(edit, user, operand, edit.adapters.apply("cast", f, rng, user, x=operand, dtype=dtype))


def break_by_view(edit: Edit, f: FunctionBuilder, planted: Planted, rng: Random) -> None:
    user, operand = _edge(planted, rng)
    rules = [r for r in edit.tools.book.rules.values() if r.alias is not None and not r.alias.maybe]
    results = tensor_results(f, grow(edit, f, user, operand, rng, [r for r in rules if "inplace" not in r.tags]))
    _replace(edit, user, operand, rng.choice(results) if results else None)


def break_by_user(edit: Edit, f: FunctionBuilder, planted: Planted, rng: Random) -> None:
    add_result(f, _edge(planted, rng)[1], rng)


def break_by_attribute(edit: Edit, f: FunctionBuilder, planted: Planted, rng: Random) -> None:
    for node in rng.sample(planted.nodes, len(planted.nodes)):
        rule = edit.tools.book.rules.get(str(node.meta["op"]))
        if rule is None:  # an item of a tuple
            continue
        found = rule.resample_attribute(tuple(node.args), dict(node.kwargs), rng, rooted_types_in)
        if found is not None:
            args, kwargs = found
            f.set_call(node, rule.op, args, kwargs, edit.adapters.spelling(rule.op, args, kwargs, rng))
            edit.b.stale = True
            return
    raise Rejected("no attribute to change")


BREAKS = (break_by_cast, break_by_view, break_by_user, break_by_attribute)


def _edge(planted: Planted, rng: Random) -> tuple[fx.Node, fx.Node]:
    edges = planted.edges()
    if not edges:
        raise Rejected("nothing is used inside the pattern")
    return rng.choice(edges)


def _replace(edit: Edit, user: fx.Node, old: fx.Node, new: fx.Node | None) -> None:
    if new is None:
        raise Rejected(f"nothing comes between {old.name} and {user.name}")
    substitute(user, {old: new})
    edit.b.stale = True


def _tensor(node: fx.Node) -> TensorType:
    kind = type_of(node)
    assert isinstance(kind, TensorType)
    return kind

