"""Modules and closures that hold constants, layers and numbers for the function."""

from __future__ import annotations

import ast
import functools
from dataclasses import replace
from random import Random
from typing import Any

import torch.fx as fx
from torch.fx.node import map_arg

from ...ir.builder import FunctionBuilder, Rejected
from ...ir.program import Closure, Function, Ref, State
from ...ir.types import TensorType
from ...resources import data_dir
from ...toml import read_toml
from ..numbers import Numbers
from ..profile import pick
from .places import alone, call_plainly, carries_grad, first_call_of, free_values, next_to, parameter

INSTANCES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("module", ()), ("module", ()), ("module", ("eval",)), ("closure", ()),
)  # fmt: skip


def hold_constants(numbers: Numbers, rng: Random) -> None:
    """The function becomes a module or a closure, with the constants that it reads; calls of it are calls of that."""
    _hold(numbers, *rng.choice(INSTANCES))


def _hold(numbers: Numbers, kind: str, args: tuple[Any, ...]) -> None:
    b, f = numbers.b, numbers.f
    shared = {s.view_of for s in b.constants} | {s.name for s in b.constants if s.view_of}
    layers = {s.name for s in b.states if s.kind == "layer"}
    made = captured(f.finish(), ({s.name for s in b.constants} | layers) - shared)
    if kind == "closure" and not made.captures:
        raise Rejected("nothing to capture")
    b.functions[f.name] = FunctionBuilder(b, made)
    name = b.fresh_name("m")
    b.add_closure(Closure(name, f.name, tuple((c, Ref(c)) for c in made.captures), kind, args))
    b.calls = [replace(c, function=name) if c.function == f.name else c for c in b.calls]


def apply_layer(numbers: Numbers, rng: Random) -> None:
    """A value goes through a layer, in training or out of it; a second call meets the buffers that the first one wrote,
    and other random numbers."""
    b, f = numbers.b, numbers.f
    if any(c.contexts for c in b.calls):
        raise Rejected("the layer's parameters are f32 in no other context")
    # What FakeTensors say of the strides of a norm of other layouts is not what eager gives.
    values = [n for n in free_values(f) if alone(n).dtype == "f32" and alone(n).numel and alone(n).is_contiguous]
    if not values:
        raise Rejected("no value of f32 in row-major order")
    node, at = rng.choice(values), b.calls.index(first_call_of(numbers))
    state = b.add_state(State(b.fresh_name("l"), "layer", _draw_layer(node.meta["type"], rng)))
    try:
        last = f.op("call", (f.read(state.name), node), before=next_to(f, node))
    except Rejected:
        b.states.remove(state)
        raise
    f.replace_uses(node, last, keep=[last])
    if carries_grad(last) and not b.options.inference and rng.random() < 0.5:
        b.set_options(grad=True)
    if rng.random() < 0.8:
        _hold(numbers, "module", rng.choice(((), (), ("eval",))))
    if rng.random() < 0.5:
        if rng.random() < 0.4:
            change = b.function(b.fresh_name("h"))
            change.op("state.setattr", (change.read(state.name), "training", False))
            call_plainly(b, change)
        b.add_call(replace(b.calls[at], result=None, fresh=False))


def _draw_layer(kind: TensorType, rng: Random) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """A layer that takes a tensor and gives one alike."""
    found = [(e, float(e.get("weight", 1.0))) for e in _layers() if e["ranks"][0] <= kind.rank <= e["ranks"][1]]
    if not found:
        raise Rejected("no layer for its rank")
    entry = pick(found, rng)
    sizes = {"$channels": kind.shape[1] if kind.rank > 1 else 1, "$last": kind.shape[-1] if kind.rank else 1}
    return entry["name"], tuple(sizes.get(a, a) for a in entry["args"]), ast.literal_eval(rng.choice(entry["options"]))


@functools.cache
def _layers() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_toml(data_dir("grammar") / "layers.toml")["layer"]
    return found


def close_over_number(numbers: Numbers, rng: Random) -> None:
    """A literal becomes what a closure captured. Where any number may stand, a second closure of the same code has
    another one; or the function sets its own to another, which a second call meets."""
    b, f = numbers.b, numbers.f
    first = first_call_of(numbers)
    node, value, others = numbers.outside(rng, lambda value: parameter(numbers, value))
    values = [value, *rng.sample(others, min(len(others), 1))]
    changes = len(values) > 1 and rng.random() < 0.5
    if changes:
        f.op("state.assign", (node, values.pop()))
    b.functions[f.name] = FunctionBuilder(b, captured(f.finish(), {node.name}))
    closures = [b.add_closure(Closure(b.fresh_name("c"), f.name, ((node.name, v),))) for v in values]
    b.calls = [replace(c, function=closures[0].name) if c.function == f.name else c for c in b.calls]
    for other in closures if changes else closures[1:]:
        b.add_call(replace(first, function=other.name, result=None))


def captured(function: Function, names: set[str]) -> Function:
    """The function with captures, of the same names, in place of the parameters and reads from outside in `names`."""
    graph = fx.Graph()
    moved = [n for n in function.graph.nodes if n.op in ("get_attr", "placeholder") and str(n.target) in names]
    mine: dict[fx.Node, fx.Node] = {}
    for node in moved:
        mine[node] = graph.placeholder(node.name)
        mine[node].meta["type"] = node.meta["type"]
    for node in function.graph.nodes:
        if node.op == "output":
            graph.output(map_arg(node.args[0], mine.__getitem__))
        elif node not in mine:
            mine[node] = graph.node_copy(node, mine.__getitem__)
    return Function(function.name, graph, (*function.captures, *(n.name for n in moved)), function.regions)
