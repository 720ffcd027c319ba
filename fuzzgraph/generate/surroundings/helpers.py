"""Runs of nodes in functions of their own, and what holds these: closures, operators, decorators, ..."""

from __future__ import annotations

from random import Random
from typing import Any

import torch.fx as fx
from torch.fx.node import map_arg

from ...grammar.rule import calls
from ...ir.builder import Builder, FunctionBuilder, Rejected
from ...ir.nested import functions_in
from ...ir.program import Closure, Ref, op_of, root_of, type_of
from ...ir.types import TensorType
from ...ir.typing import operands
from ...render.forms import Facts
from ...render.instances import BACKWARD, load_instances, offers
from ..domains import Knowledge
from ..hazards import IMPURE
from ..numbers import Numbers
from ..regions import draw_run, facts_of, free_positions
from .places import alone, next_to


def call_helper(numbers: Numbers, rng: Random) -> None:
    """A run of nodes becomes a function of its own, which is called; or what holds it is: a closure that the function
    makes, an operator, an autograd.Function, a decorator."""
    run, inner, results, facts = _movable(numbers, rng)
    bound = [r for r in inner if rng.random() < 0.5] if rng.random() < 0.4 else []
    given = [r for r in inner if r not in bound]
    made = _written(numbers.b, run, results, given, bound)
    held = made.name if bound or rng.random() >= HELD else _held(numbers, made, facts, rng)
    _call(numbers, run, results, made, held, given, bound)


def hold_in_transform(numbers: Numbers, rng: Random) -> None:
    """In a function that a transform of torch.func calls, a run of nodes becomes an autograd.Function. Its backward is
    not the true one: whoever does not ask it is found out."""
    b = numbers.b
    found = [(op_of(n), name) for n in numbers.f.body if op_of(n) in TRANSFORMS
             for name in functions_in((n.args, dict(n.kwargs)))]  # fmt: skip
    if not found:
        raise Rejected("nothing transforms a function")
    op, name = rng.choice(found)
    inside = Numbers(numbers.book, numbers.adapters, b, b.functions[name])
    run, inner, results, facts = _movable(inside, rng)
    offered = offers(load_instances()["autograd_function"], facts)
    styles = [args for args in offered if set(args) & TRANSFORMS[op]]
    if not styles:
        raise Rejected("no autograd.Function may hold the nodes")
    made = _written(b, run, results, inner, [])
    _call(inside, run, results, made, _instance(inside, made, "autograd_function", rng.choice(styles), rng), inner, [])


# Of the helpers without captures, those that are no mere function.
HELD = 0.6
# Operators that differentiate or batch a function, and how an autograd.Function in it must be written for them.
TRANSFORMS = {
    "func.grad.of": {"setup_context", "generate_vmap_rule"},
    "func.grad_and_value.of": {"setup_context", "generate_vmap_rule"},
    "func.jacrev.of": {"generate_vmap_rule"}, "vmap.of": {"generate_vmap_rule"},
}  # fmt: skip
# What the gradients of a helper are not computed with: the last bit decides, or they are no function of their operands.
UNSTEADY = IMPURE | {"unstable", "discontinuous", "index_valued", "number", "loop", "view"}
GRADIENT_TRIES = 12


def _written(
    b: Builder, run: list[fx.Node], results: list[fx.Node], given: list[fx.Node], bound: list[fx.Node]
) -> FunctionBuilder:
    """A new function of the nodes of a run, with parameters for `given` and captures for `bound`."""
    outer = {n: b.fresh_name("a") for n in (*given, *bound)}
    made = b.function(b.fresh_name("h"), [(outer[n], alone(n)) for n in given], [(outer[n], alone(n)) for n in bound])
    mine = {n: made.node(name) for n, name in outer.items()}
    for node in run:
        args: Any = map_arg(node.args, mine.__getitem__)
        kwargs: Any = map_arg(dict(node.kwargs), mine.__getitem__)
        spelling = node.meta.get("spelling")
        mine[node] = made.op(str(node.meta["op"]), args, kwargs, spelling=spelling, type=type_of(node))
    returned = tuple(mine[n] for n in results)
    made.returns(returned[0] if len(returned) == 1 else returned)
    return made


def _call(
    numbers: Numbers, run: list[fx.Node], results: list[fx.Node], made: FunctionBuilder, held: str,
    given: list[fx.Node], bound: list[fx.Node],
) -> None:  # fmt: skip
    """In place of the nodes a call of the function that they stand in now, by the name of what holds it."""
    b, f = numbers.b, numbers.f
    place = next_to(f, run[-1])
    callee = f.read(held)
    if bound:
        callee = f.op("closure", (callee, *bound), before=place)
    value = f.op("call", (callee, *given), before=place, type=b.result_type(f.read(made.name)))
    for i, node in enumerate(results):
        by = value if len(results) == 1 else f.op("getitem", (value, i), before=place)
        f.replace_uses(node, by, keep=run)
    for node in reversed(run):
        f.erase(node)


def _held(numbers: Numbers, made: FunctionBuilder, facts: Facts, rng: Random) -> str:
    """Name of an instance that holds a function; of the function itself where none may."""
    kinds = load_instances().items()
    found = [(name, given) for name, kind in kinds if (given := offers(kind, facts))]
    if not found:
        return made.name
    kind, choices = rng.choice(found)
    return _instance(numbers, made, kind, rng.choice(choices), rng)


def _instance(numbers: Numbers, made: FunctionBuilder, kind: str, args: tuple[Any, ...], rng: Random) -> str:
    """Name of a new instance of that kind, with a backward of its own where it wants one."""
    if BACKWARD in args:
        back = Ref(_backward(numbers, made, rng))
        args = tuple(back if arg == BACKWARD else arg for arg in args)
    b = numbers.b
    return b.add_closure(Closure(b.fresh_name("c"), made.name, (), kind, args)).name


def _backward(numbers: Numbers, made: FunctionBuilder, rng: Random) -> str:
    """Name of a new function that gives gradients of a function's parameters: those of its results, alone or with
    a saved parameter in some operator. They need not be true, only equal for all who run it."""
    b = numbers.b
    results = list(made.result) if isinstance(made.result, tuple) else [made.result]
    saved = [p for p in made.placeholders if rng.random() < 0.7]
    plain = {p: alone(p).with_(requires_grad=False) for p in (*made.placeholders, *results)}
    gradients = [b.fresh_name("g") for _ in results]
    params = [*zip(gradients, map(plain.__getitem__, results), strict=True), *((p.name, plain[p]) for p in saved)]
    back = b.function(b.fresh_name("h"), params)
    given = [back.node(name) for name in gradients]
    know = Knowledge(numbers.book, numbers.adapters, b, back)
    back.returns(tuple(_gradient(know, plain[p], given, rng) for p in made.placeholders))
    return back.name


def _gradient(know: Knowledge, wanted: TensorType, given: list[fx.Node], rng: Random) -> fx.Node | None:
    """A value of a parameter's dtype and shape; None, which is no gradient, where none is at hand."""
    back = know.f

    def fits(node: fx.Node) -> bool:
        kind = type_of(node)
        return isinstance(kind, TensorType) and (kind.dtype, kind.shape) == (wanted.dtype, wanted.shape)

    found, others = [g for g in given if fits(g)], [p for p in back.placeholders if fits(p)]
    if not found:
        return None
    rules = [r for r in know.book.rules.values() if r.weight and not r.tags & UNSTEADY]
    rules = [r for r in rules if not any(map(calls, r.params))]
    for _ in range(GRADIENT_TRIES if rng.random() < 0.8 else 0):
        try:
            node = back.op(rng.choice(rules).op, (rng.choice(found), rng.choice(others)))
        except Rejected:
            continue
        if fits(node) and root_of(node) == node.name and not know.doubts():
            return node
        back.erase(node)
    return rng.choice(found)


def _movable(numbers: Numbers, rng: Random) -> tuple[list[fx.Node], list[fx.Node], list[fx.Node], Facts]:
    """A run of nodes that may stand in another function, the tensors that it reads, what of it is used behind it, and
    what is known about it."""
    f = numbers.f
    free = free_positions(f)
    if not free:
        raise Rejected("all nodes are in forms")
    first, last = draw_run(free, rng, (0, 1, 1, 2, 4))
    run = f.body[first : last + 1]
    facts = facts_of(numbers.book, numbers.b, f, run)
    if not facts.functional or facts.shared or facts.rewritten or not facts.tensors:
        raise Rejected("the nodes have effects, or share memory with others")
    reads = list(dict.fromkeys(a for n in run for a in n.all_input_nodes if a not in run))
    if not all(isinstance(type_of(r), TensorType) for r in reads):
        raise Rejected("the nodes read what is no tensor")
    users = set(run)
    returned = {n for n in run if any(u not in users for u in n.users)} | (set(run) & set(operands(f.result)))
    return run, reads, [n for n in run if n in returned], facts
