"""Python around a program's operators: state, helper functions, closures, modules, gradients inside, arguments.

Each change keeps what the operators compute: a value goes through a list or a helper, a literal becomes an argument.
What it makes harder is the compiler's part: side effects, inlining, guards on closures and numbers, aliases between
inputs. A change raises Rejected, and leaves the builder as it was, where the function has no place for it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import torch.fx as fx
from torch.fx.node import map_arg

from ..grammar.rule import RuleBook, calls
from ..ir.builder import Builder, FunctionBuilder, Rejected
from ..ir.program import Call, Closure, Function, Ref, State, root_of, type_of
from ..ir.types import AnyType, FunctionType, ScalarType, SequenceType, TensorType, Type, scalar, tensor
from ..ir.typing import operands
from ..render.forms import Facts
from ..render.instances import BACKWARD, load_instances, offers
from ..resources import data_dir
from ..toml import read_toml
from .domains import Knowledge, written_nodes
from .hazards import IMPURE
from .numbers import Numbers
from .profile import pick
from .regions import draw_run, facts_of, free_positions

Change = Callable[[RuleBook, Numbers, Builder, FunctionBuilder, Random], None]

# --- state


def keep_in_state(book: RuleBook, numbers: Numbers, b: Builder, f: FunctionBuilder, rng: Random) -> None:
    """A value is put into Python state; mostly what uses it gets it from there."""
    node = rng.choice(_values(f))
    kind, initial, write, read = rng.choice(_PLACES)
    state = f.read(b.add_state(State(b.fresh_name("s"), kind, initial)).name)
    place = _next(f, node)
    op, *key = write
    first = f.op(op, (state, *key, node), before=place)
    if rng.random() < 0.3:
        if kind in ("list", "dict"):
            f.op("state.len", (state,), before=place, type=ScalarType("int"))
        return
    op, *key = read
    last = f.op(op, (state, *key), before=place, type=_same(node))
    f.replace_uses(node, last, keep=[first])


# Kind and content of a state, how a value gets into it, and out again.
_PLACES: tuple[tuple[str, Any, tuple[Any, ...], tuple[Any, ...]], ...] = (
    ("list", [], ("state.append",), ("state.pop",)),
    ("list", [], ("state.append",), ("state.getitem", -1)),
    ("list", [1, 2], ("state.setitem", 0), ("state.getitem", 0)),
    ("dict", {}, ("state.setitem", "k"), ("state.getitem", "k")),
    ("dict", {"k": 0}, ("state.setitem", "k"), ("state.pop", "k")),
    ("object", {"n": 0}, ("state.setattr", "n"), ("state.getattr", "n")),
    ("object", {}, ("state.setattr", "n"), ("state.getattr", "n")),
    ("global", None, ("state.assign",), ("state.read",)),
    ("global", 1, ("state.assign",), ("state.read",)),
)


def keep_in_object(book: RuleBook, numbers: Numbers, b: Builder, f: FunctionBuilder, rng: Random) -> None:
    """A value becomes the attribute of an object that the function makes."""
    node = rng.choice(_values(f))
    place = _next(f, node)
    made = f.op("state.object", (), {"n": node}, before=place)
    if rng.random() < 0.4:
        f.op("state.setattr", (made, "m", node), before=place)
    last = f.op("state.getattr", (made, "n"), before=place, type=_same(node))
    f.replace_uses(node, last, keep=[n for n in made.users if n is not last] + [made])


# --- functions


def call_helper(book: RuleBook, numbers: Numbers, b: Builder, f: FunctionBuilder, rng: Random) -> None:
    """A run of nodes becomes a function of its own, which is called; or what holds it is: a closure that the function
    makes, an operator, an autograd.Function, a decorator."""
    run, reads, results, facts = _movable(book, b, f, rng)
    inner = [r for r in reads if isinstance(type_of(r), TensorType)]
    bound = [r for r in inner if rng.random() < 0.5] if rng.random() < 0.4 else []
    given = [r for r in inner if r not in bound]
    outer = {n: b.fresh_name("a") for n in inner}
    made = b.function(
        b.fresh_name("h"), [(outer[n], _alone(n)) for n in given], [(outer[n], _alone(n)) for n in bound]
    )
    mine = {n: made.node(outer[n]) for n in inner}
    for node in run:
        args: Any = map_arg(node.args, mine.__getitem__)
        kwargs: Any = map_arg(dict(node.kwargs), mine.__getitem__)
        spelling = node.meta.get("spelling")
        mine[node] = made.op(str(node.meta["op"]), args, kwargs, spelling=spelling, type=type_of(node))
    returned = tuple(mine[n] for n in results)
    made.returns(returned[0] if len(returned) == 1 else returned)
    place = _next(f, run[-1])
    held = made.name if bound or rng.random() >= HELD else _held(numbers, b, made, facts, rng)
    callee = f.read(held)
    if bound:
        callee = f.op("closure", (callee, *bound), before=place)
    value = f.op("call", (callee, *given), before=place, type=b.result_type(f.read(made.name)))
    for i, node in enumerate(results):
        by = value if len(results) == 1 else f.op("getitem", (value, i), before=place)
        f.replace_uses(node, by, keep=run)
    for node in reversed(run):
        f.erase(node)


# Of the helpers without captures, those that are no mere function.
HELD = 0.6
# What the gradients of a helper are not computed with: the last bit decides, or they are no function of their operands.
UNSTEADY = IMPURE | {"unstable", "discontinuous", "index_valued", "number", "loop", "view"}
GRADIENT_TRIES = 12


def _held(numbers: Numbers, b: Builder, made: FunctionBuilder, facts: Facts, rng: Random) -> str:
    """Name of an instance that holds a function; of the function itself where none may."""
    kinds = load_instances().items()
    found = [(name, given) for name, kind in kinds if (given := offers(kind, facts))]
    if not found:
        return made.name
    kind, choices = rng.choice(found)
    args: tuple[Any, ...] = rng.choice(choices)
    if BACKWARD in args:
        args = (Ref(_backward(numbers, b, made, rng)),)
    return b.add_closure(Closure(b.fresh_name("c"), made.name, (), kind, args)).name


def _backward(numbers: Numbers, b: Builder, made: FunctionBuilder, rng: Random) -> str:
    """Name of a new function that gives gradients of a function's parameters: those of its results, alone or with
    a saved parameter in some operator. They need not be true, only equal for all who run it."""
    results = list(made.result) if isinstance(made.result, tuple) else [made.result]
    saved = [p for p in made.placeholders if rng.random() < 0.7]
    plain = {p: _alone(p).with_(requires_grad=False) for p in (*made.placeholders, *results)}
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


def _movable(
    book: RuleBook, b: Builder, f: FunctionBuilder, rng: Random
) -> tuple[list[fx.Node], list[fx.Node], list[fx.Node], Facts]:
    """A run of nodes that may stand in another function, what it reads, what of it is used behind it, and what is known
    about it."""
    free = free_positions(f)
    if not free:
        raise Rejected("all nodes are in forms")
    first, last = draw_run(free, rng, (0, 1, 1, 2, 4))
    run = f.body[first : last + 1]
    facts = facts_of(book, b, f, run)
    if not facts.functional or facts.shared or facts.rewritten or not facts.tensors:
        raise Rejected("the nodes have effects, or share memory with others")
    reads = list(dict.fromkeys(a for n in run for a in n.all_input_nodes if a not in run))
    if not all(isinstance(type_of(r), TensorType) for r in reads):
        raise Rejected("the nodes read what is no tensor")
    users = set(run)
    returned = {n for n in run if any(u not in users for u in n.users)} | (set(run) & set(operands(f.result)))
    return run, reads, [n for n in run if n in returned], facts


INSTANCES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("module", ()), ("module", ()), ("module", ("eval",)), ("closure", ()),
)  # fmt: skip


def hold_constants(book: RuleBook, numbers: Numbers, b: Builder, f: FunctionBuilder, rng: Random) -> None:
    """The function becomes a module or a closure, with the constants that it reads; calls of it are calls of that."""
    kind, args = rng.choice(INSTANCES)
    _hold(b, f, kind, args)


def _hold(b: Builder, f: FunctionBuilder, kind: str, args: tuple[Any, ...]) -> None:
    shared = {s.view_of for s in b.constants} | {s.name for s in b.constants if s.view_of}
    layers = {s.name for s in b.states if s.kind == "layer"}
    made = captured(f.finish(), ({s.name for s in b.constants} | layers) - shared)
    if kind == "closure" and not made.captures:
        raise Rejected("nothing to capture")
    b.functions[f.name] = FunctionBuilder(b, made)
    name = b.fresh_name("m")
    b.add_closure(Closure(name, f.name, tuple((c, Ref(c)) for c in made.captures), kind, args))
    b.calls = [replace(c, function=name) if c.function == f.name else c for c in b.calls]


def apply_layer(book: RuleBook, numbers: Numbers, b: Builder, f: FunctionBuilder, rng: Random) -> None:
    """A value goes through a layer, in training or out of it; a second call meets the buffers that the first one wrote,
    and other random numbers."""
    if any(c.contexts for c in b.calls):
        raise Rejected("the layer's parameters are f32 in no other context")
    # What FakeTensors say of the strides of a norm of other layouts is not what eager gives.
    values = [n for n in _values(f) if _alone(n).dtype == "f32" and _alone(n).numel and _alone(n).is_contiguous]
    if not values:
        raise Rejected("no value of f32 in row-major order")
    node, at = rng.choice(values), b.calls.index(_first(b, f))
    state = b.add_state(State(b.fresh_name("l"), "layer", _draw_layer(node.meta["type"], rng)))
    try:
        last = f.op("call", (f.read(state.name), node), before=_next(f, node))
    except Rejected:
        b.states.remove(state)
        raise
    f.replace_uses(node, last, keep=[last])
    if _carries_grad(last) and not b.options.inference and rng.random() < 0.5:
        b.set_options(grad=True)
    if rng.random() < 0.8:
        _hold(b, f, "module", rng.choice(((), (), ("eval",))))
    if rng.random() < 0.5:
        if rng.random() < 0.4:
            change = b.function(b.fresh_name("h"))
            change.op("state.setattr", (change.read(state.name), "training", False))
            _call_plainly(b, change)
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


def close_over_number(book: RuleBook, numbers: Numbers, b: Builder, f: FunctionBuilder, rng: Random) -> None:
    """A literal becomes what a closure captured. Where any number may stand, a second closure of the same code has
    another one; or the function sets its own to another, which a second call meets."""
    first = _first(b, f)
    node, value, others = numbers.outside(rng, lambda value: _parameter(b, f, value))
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


# --- arguments


def pass_number(book: RuleBook, numbers: Numbers, b: Builder, f: FunctionBuilder, rng: Random) -> None:
    """A literal becomes an argument; where any number may stand, further calls pass others."""
    first = _first(b, f)
    _, value, others = numbers.outside(rng, lambda value: _parameter(b, f, value))
    b.calls = [replace(c, args=(*c.args, value)) if c.function == f.name else c for c in b.calls]
    for other in rng.sample(others, min(len(others), rng.choice((1, 2)))):
        b.add_call(replace(first, args=(*first.args, other), result=None))


def read_number(book: RuleBook, numbers: Numbers, b: Builder, f: FunctionBuilder, rng: Random) -> None:
    """A literal is read from Python state; where any number may stand, the function, or a plain call behind it, puts
    another there, which a second call meets."""
    first, states = _first(b, f), b.states
    kind, make, write, read = rng.choice(_NUMBER_PLACES)
    name = b.fresh_name("s")

    def reading(value: int | float) -> fx.Node:
        b.states = [*states, State(name, kind, make(value))]
        op, *key = read
        return f.op(op, (f.read(name), *key), before=next(iter(f.body), None), type=scalar(value))

    try:
        _, _, others = numbers.outside(rng, reading)
    except Rejected:
        b.states = states
        raise
    if others:
        op, *key = write
        outside = rng.random() < 0.5
        by = b.function(b.fresh_name("h")) if outside else f
        by.op(op, (by.read(name), *key, rng.choice(others)))
        if outside:
            _call_plainly(b, by)
        b.add_call(replace(first, result=None))


def _call_plainly(b: Builder, f: FunctionBuilder) -> None:
    """Call a new function without parameters for its effects, and do not compile it."""
    f.returns(None)
    b.add_call(Call(f.name, plain=True))


# Kind of a state and its content for a number, how another gets there, and how it is read.
_NUMBER_PLACES: tuple[tuple[str, Callable[[Any], Any], tuple[Any, ...], tuple[Any, ...]], ...] = (
    ("global", lambda n: n, ("state.assign",), ("state.read",)),
    ("list", lambda n: [n], ("state.setitem", 0), ("state.getitem", 0)),
    ("list", lambda n: [n], ("state.append",), ("state.getitem", -1)),
    ("dict", lambda n: {"n": n}, ("state.setitem", "n"), ("state.getitem", "n")),
    ("object", lambda n: {"n": n}, ("state.setattr", "n"), ("state.getattr", "n")),
)


def _parameter(b: Builder, f: FunctionBuilder, value: int | float) -> fx.Node:
    return f.add_placeholder(b.fresh_name("n"), scalar(value))


def pass_twice(book: RuleBook, numbers: Numbers, b: Builder, f: FunctionBuilder, rng: Random) -> None:
    """One input is passed for two parameters, in all calls; or, where the two are alike, in a further call only."""
    first = _first(b, f)
    names = [a for a in first.args if isinstance(a, Ref) and _stands_alone(b, a.name)]
    pairs = [(x, y) for x in names for y in names if x != y and _shape(b, x) == _shape(b, y)]
    if not pairs:
        raise Rejected("no two inputs have the same shape")
    kept, gone = rng.choice(pairs)
    alike, doubts = _like(b, kept) == _like(b, gone), len(numbers.doubts())
    if alike and not doubts and rng.random() < 0.5:
        b.add_call(replace(first, args=_with(first.args, gone, kept), result=None))
        return
    calls, inputs = b.calls, b.inputs
    b.calls = [replace(c, args=_with(c.args, gone, kept)) for c in calls]
    b.inputs = [s for s in inputs if Ref(s.name) != gone]
    if not alike and len(numbers.doubts()) > doubts:
        b.calls, b.inputs = calls, inputs
        raise Rejected("its elements may be out of range")


def _with(args: tuple[Any, ...], gone: Ref, kept: Ref) -> tuple[Any, ...]:
    return tuple(kept if a == gone else a for a in args)


def _stands_alone(b: Builder, name: str) -> bool:
    """Whether that is an input which shares its memory with no other."""
    return not b.spec(name).view_of and not any(s.view_of == name for s in b.inputs)


def _shape(b: Builder, ref: Ref) -> tuple[Any, ...]:
    kind = b.spec(ref.name).type
    return kind.dtype, kind.shape, kind.requires_grad


def _like(b: Builder, ref: Ref) -> tuple[Any, ...]:
    spec = b.spec(ref.name)
    return spec.type, spec.values.kind, spec.values.params


# --- gradients


def differentiate(book: RuleBook, numbers: Numbers, b: Builder, f: FunctionBuilder, rng: Random) -> None:
    """The gradient of a value with respect to an input, taken inside the function and returned too."""
    if f.regions or any(c.contexts for c in b.calls) or any(written_nodes(book, n) for n in f.body):
        raise Rejected("autograd may be off, or miss what a write took away")
    sources = [n for n in f.placeholders if _carries_grad(n)]
    pairs = [(n, x) for n in f.body if _carries_grad(n) for x in sources if _depends(n, x)]
    if not pairs:
        raise Rejected("nothing requires grad")
    node, source = rng.choice(pairs)
    if type_of(node).info.kind != "float" or "sum" not in book.rules:  # type: ignore[union-attr]
        raise Rejected("no real value")
    whole = f.op("sum", (node,))
    if b.options.grad and rng.random() < 0.5:
        b.set_options(grad=False)
    again = (True,) if b.options.grad else ()
    given = _alone(source)
    kind = SequenceType("tuple", (tensor(given.dtype, given.shape).with_(requires_grad=b.options.grad),))
    both = f.op("autograd.grad", (whole, source, *again), type=kind)
    found = f.op("getitem", (both, 0))
    f.returns((f.result, found))


def _carries_grad(node: fx.Node) -> bool:
    kind = type_of(node)
    return isinstance(kind, TensorType) and kind.requires_grad


def _depends(node: fx.Node, source: fx.Node) -> bool:
    """Whether autograd surely leads from a value to an input: all of the way through tensors that carry grad, and
    through nothing that calls functions, whose results only may."""
    seen, todo = set(), [node]
    while todo:
        at = todo.pop()
        if at is source:
            return True
        if at not in seen and not any(isinstance(type_of(n), FunctionType | AnyType) for n in at.all_input_nodes):
            seen.add(at)
            todo += [n for n in at.all_input_nodes if _carries_grad(n) or isinstance(type_of(n), SequenceType)]
    return False


# --- all


CHANGES: tuple[tuple[Change, float], ...] = (
    (keep_in_state, 5.0), (keep_in_object, 1.0), (call_helper, 6.0), (hold_constants, 2.0), (close_over_number, 2.0),
    (apply_layer, 3.0), (pass_number, 3.0), (read_number, 3.0), (pass_twice, 6.0), (differentiate, 3.0),
)  # fmt: skip
# Few programs have an input that requires grad: there, its gradient is as likely as all else.
SCARCE = 6.0


def surround(book: RuleBook, numbers: Numbers, b: Builder, f: FunctionBuilder, rng: Random) -> None:
    """One of the changes, of a function that nothing but the script calls. Raises Rejected."""
    grad = SCARCE * any(s.type.requires_grad for s in b.inputs)
    changes = [(change, weight * grad if change is differentiate else weight) for change, weight in CHANGES]
    pick(changes, rng)(book, numbers, b, f, rng)
    b.stale = True


def _first(b: Builder, f: FunctionBuilder) -> Call:
    """The first call of a function."""
    return next(c for c in b.calls if c.function == f.name)


def _values(f: FunctionBuilder) -> list[fx.Node]:
    """The tensors that a function makes, outside of its forms."""
    body = f.body
    found = [body[i] for i in free_positions(f) if isinstance(type_of(body[i]), TensorType)]
    if not found:
        raise Rejected("no value outside of forms")
    return found


def _next(f: FunctionBuilder, node: fx.Node) -> fx.Node | None:
    body = f.body
    return next(iter(body[body.index(node) + 1 :]), None)


def _same(node: fx.Node) -> Type:
    """The type of another name for a value."""
    kind = type_of(node)
    assert isinstance(kind, TensorType)
    return kind.with_(alias=root_of(node))


def _alone(node: fx.Node) -> TensorType:
    """The type of a value as a parameter that shares memory with no other."""
    kind = type_of(node)
    assert isinstance(kind, TensorType)
    return kind.with_(alias=None)
