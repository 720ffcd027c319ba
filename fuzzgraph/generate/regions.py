"""Which runs of nodes are written with which form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

import torch.fx as fx

from ..grammar.rule import RuleBook
from ..ir.builder import Builder, FunctionBuilder
from ..ir.builtins import OPAQUE
from ..ir.program import Region, root_of, type_of
from ..ir.types import SequenceType, TensorType
from ..ir.typing import operands
from ..render.forms import Facts, Form, fits
from .domains import written_nodes
from .profile import pick

# Runs of nodes among which one is looked for that a form fits around.
RUNS = 5


def draw_region(
    book: RuleBook, b: Builder, f: FunctionBuilder, forms: Mapping[str, Form], rng: Random
) -> Region | None:
    """A form that fits around a random run of nodes that no form holds yet; None where there is none."""
    body, free = f.body, free_positions(f)
    if not free:
        return None
    runs = [draw_run(free, rng) for _ in range(RUNS)]
    facts = [facts_of(book, b, f, body[first : last + 1]) for first, last in runs]
    left = list(forms.values())
    while left:
        # The form first: few runs suit some forms, so that those would hardly ever be chosen for a run.
        form = pick([(form, form.weight) for form in left], rng)
        fitting = [run for run, known in zip(runs, facts, strict=True) if fits(form, known)]
        if fitting:
            first, last = rng.choice(fitting)
            return Region(form.name, body[first].name, body[last].name, form.sample(rng))
        left.remove(form)
    return None


def free_positions(f: FunctionBuilder) -> list[int]:
    """Positions in the body of the nodes that no form holds."""
    order = {n.name: i for i, n in enumerate(f.body)}
    inside = {i for r in f.regions for i in range(order[r.first], order[r.last] + 1)}
    return [i for i in range(len(order)) if i not in inside]


def draw_run(free: list[int], rng: Random, more: tuple[int, ...] = (0, 1, 1, 2, 3)) -> tuple[int, int]:
    """First and last of a few positions that follow each other; `more` says how many there may be behind the first."""
    first = last = rng.choice(free)
    for _ in range(rng.choice(more)):
        last += last + 1 in free
    return first, last


def drop_misfits(book: RuleBook, b: Builder, f: FunctionBuilder, forms: Mapping[str, Form]) -> None:
    """Remove the forms that do not fit around what is in them now. Unknown ones stay."""
    f.regions = [r for r in f.regions if r.form not in forms or _fits(book, b, f, r, forms[r.form])]


def _fits(book: RuleBook, b: Builder, f: FunctionBuilder, region: Region, form: Form) -> bool:
    names = [n.name for n in f.body]
    nodes = f.body[names.index(region.first) : names.index(region.last) + 1]
    return fits(form, facts_of(book, b, f, nodes))


def _memory(nodes: Iterable[fx.Node]) -> set[str]:
    """Roots of the values, and of the items of those that are sequences."""
    found: set[str] = set()
    for node in nodes:
        kind = type_of(node)
        items = kind.items if isinstance(kind, SequenceType) else ()
        found |= {t.alias for t in items if isinstance(t, TensorType) and t.alias} or {root_of(node)}
    return found


def may_need_grad(b: Builder) -> bool:
    """Whether anything requires grad: an input, a constant, a parameter of a layer."""
    return any(s.type.requires_grad for s in (*b.inputs, *b.constants)) or any(s.kind == "layer" for s in b.states)


def facts_of(book: RuleBook, b: Builder, f: FunctionBuilder, nodes: list[fx.Node]) -> Facts:
    """What is known about a run of nodes of a function. It must not be empty."""
    inside = set(nodes)
    reads = list(dict.fromkeys(a for n in nodes for a in n.all_input_nodes if a not in inside))
    returned = set(operands(f.result)) if f.has_result else set(nodes)
    results = [n for n in nodes if n in returned or any(user not in inside for user in n.users)]
    outside, given = _memory(reads), [root for n in results for root in _memory([n])]
    places = {n: _memory(written_nodes(book, n)) for n in f.body}
    made = _memory(nodes) - outside
    behind = f.body[f.body.index(nodes[-1]) + 1 :]
    elsewhere = set[str]().union(*(places[n] for n in f.body if n not in inside))
    rules = [rule for n in nodes if (rule := book.rules.get(str(n.meta["op"]))) is not None]
    return Facts(
        reads=tuple(map(type_of, reads)),
        results=tuple(map(type_of, results)),
        tags=frozenset[str]().union(*(rule.tags for rule in rules)),
        families=frozenset(rule.family for rule in rules),
        effects=frozenset(str(n.meta["op"]) for n in nodes) & OPAQUE,
        writes=bool(set[str]().union(*(places[n] for n in nodes)) - made),
        disturbed=bool(elsewhere & outside),
        rewritten=any(places[n] & set(given) for n in behind),
        shared=len(set(given)) < len(given) or bool(outside & set(given)),
        grad=may_need_grad(b),
    )
