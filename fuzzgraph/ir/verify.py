"""The verifier: what every program must satisfy, checked after every construction and mutation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.fx as fx
from torch.fx.node import map_arg

from . import values
from .builtins import BUILTINS
from .program import (
    CONTEXTS,
    Function,
    InputSpec,
    Program,
    Ref,
    RunOptions,
    op_of,
    rooted_types_in,
    type_of,
    types_in,
)
from .types import DTYPES, AnyType, SequenceType, TensorType, UnsizedType
from .typing import Check, is_opaque, operands

STATE_KINDS = ("list", "dict", "object", "class", "global", "layer")


def verify(program: Program, check: Check | None = None) -> list[str]:
    """Problems of a program, empty where there are none.

    `check` is the grammar's judgement of one call on types; calls on opaque values are not judged. In a program that
    expects an error it may refuse one call.
    """
    problems: list[str] = []
    problems += _specs(program)
    problems += _options(program.options)
    problems += _script(program)
    allowed = int(program.options.expects_error is True)
    for function in program.functions:
        for problem in _function(program, function, check):
            if allowed and isinstance(problem, _Refusal):
                allowed -= 1
            else:
                problems.append(f"{function.name}: {problem}")
    return problems


class _Refusal(str):
    """A problem that is the grammar's refusal of a call."""


def _specs(program: Program) -> Iterator[str]:
    known: dict[str, InputSpec] = {}
    for spec in (*program.inputs, *program.constants):
        t = spec.type
        where = f"input {spec.name}"
        if t.dtype not in DTYPES:
            yield f"{where}: unknown dtype {t.dtype}"
            continue
        if len(t.shape) != len(t.stride) or any(n < 0 for n in (*t.shape, *t.stride, t.offset)):
            yield f"{where}: shape {t.shape} and strides {t.stride} do not make a tensor"
        elif spec.storage is not None and spec.storage < t.extent:
            yield f"{where}: storage {spec.storage} is smaller than the {t.extent} elements it needs"
        reason = values.problem(spec.values, t.dtype)
        if reason and not spec.view_of:
            yield f"{where}: {reason}"
        if any(not isinstance(d, int) or not 0 <= d < t.rank for d in spec.dynamic):
            yield f"{where}: dynamic dims {spec.dynamic} of a tensor of rank {t.rank}"
        if t.requires_grad and t.info.kind not in ("float", "complex"):
            yield f"{where}: dtype {t.dtype} cannot require grad"
        if spec.view_of is not None:
            yield from _view(spec, known.get(spec.view_of))
        known[spec.name] = spec
    for state in program.states:
        if state.kind not in STATE_KINDS:
            yield f"state {state.name}: unknown kind {state.kind}, expected one of {', '.join(STATE_KINDS)}"
        if state.kind == "layer" and not _is_layer(state.initial):
            hint = '("Linear", (4, 8), {"bias": False})'
            yield f"state {state.name}: a layer is a class of torch.nn with its arguments, such as {hint}"


def _is_layer(initial: Any) -> bool:
    if not (isinstance(initial, tuple) and len(initial) == 3):
        return False
    name, args, kwargs = initial
    found = getattr(torch.nn, name, None) if isinstance(name, str) else None
    made = isinstance(found, type) and issubclass(found, torch.nn.Module)
    return made and isinstance(args, tuple) and isinstance(kwargs, dict)


def _view(spec: InputSpec, base: InputSpec | None) -> Iterator[str]:
    if base is None or base.view_of is not None:
        yield f"input {spec.name}: view of {spec.view_of}, which is no earlier input with storage of its own"
    elif base.type.dtype != spec.type.dtype:
        yield f"input {spec.name}: dtype {spec.type.dtype} differs from {base.type.dtype} of its base {base.name}"
    elif spec.type.extent > max(base.storage or 0, base.type.extent):
        yield f"input {spec.name}: reaches past the storage of its base {base.name}"


def _options(o: RunOptions) -> Iterator[str]:
    for name in ("fullgraph", "grad", "inference", "expects_error"):
        if not isinstance(getattr(o, name), bool):
            yield f"option {name}: {getattr(o, name)!r} is not True or False"
    if o.dynamic is not None and not isinstance(o.dynamic, bool):
        yield f"option dynamic: {o.dynamic!r} is not True, False or None"
    if o.autocast is not None and o.autocast not in DTYPES:
        yield f'option autocast: {o.autocast!r} is not a dtype such as "bf16"'
    if o.mode is not None and not isinstance(o.mode, str):
        yield f"option mode: {o.mode!r} is not a string"


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        yield from _references(list(value.values()))


def _script(program: Program) -> Iterator[str]:
    if not program.calls:
        yield "the program calls nothing"
    callables = {f.name for f in program.functions} | {c.name for c in program.closures}
    inputs = {s.name for s in (*program.inputs, *program.constants)} | {s.name for s in program.states}
    bare = {f.name for f in program.functions if f.captures}
    for closure in program.closures:
        if closure.function not in {f.name for f in program.functions}:
            yield f"closure {closure.name}: no function {closure.function}"
        elif {k for k, _ in closure.bindings} != set(program.function(closure.name).captures):
            yield f"closure {closure.name}: binds other names than {program.function(closure.name).captures}"
        for name in _references([*(v for _, v in closure.bindings), *closure.args]):
            if name not in inputs | (callables - bare):
                yield f"closure {closure.name}: nothing is called {name}"
    for call in program.calls:
        if call.result in inputs | callables:
            yield f"call of {call.function}: the name {call.result!r} is used twice"
        if call.function not in callables:
            yield f"call of {call.function}: no such function"
            continue
        if call.function in bare:
            yield f"call of {call.function}: it has captures, which only a closure binds"
        wanted = len(program.function(call.function).params)
        if len(call.args) != wanted:
            yield f"call of {call.function}: {len(call.args)} arguments, {wanted} parameters"
        for name in _references(call.args):
            if name not in inputs:
                yield f"call of {call.function}: no input {name}"
        for context in call.contexts:
            if CONTEXTS.get(context.name) != len(context.args):
                known = ", ".join(f"{name}({'x' * count})" if count else name for name, count in CONTEXTS.items())
                what = f"unknown context {context.name} with {len(context.args)} arguments"
                yield f"call of {call.function}: {what}; known: {known}"
        inputs |= {call.result} if call.result else set()


def _function(program: Program, function: Function, check: Check | None) -> Iterator[str]:
    outer = {s.name for s in program.constants} | {s.name for s in program.states}
    outer |= {f.name for f in program.functions if not f.captures} | {c.name for c in program.closures}
    seen: set[fx.Node] = set()
    for node in function.graph.nodes:
        for used in node.all_input_nodes:
            if used not in seen:
                yield f"{node.name}: uses {used.name} before it is made"
        seen.add(node)
        bare = node.op == "get_attr" and _makes_closures(program, node)
        if node.op == "get_attr" and node.target not in outer and not bare:
            yield f"{node.name}: reads {node.target}, which is not outside (functions with captures are not)"
        elif node.op == "call_function":
            yield from _call(node, check)
        elif node.op not in ("placeholder", "get_attr", "call_function", "output"):
            yield f"{node.name}: node kind {node.op}"
    yield from _regions(function)


def _makes_closures(program: Program, node: fx.Node) -> bool:
    """Whether a function with captures is read only where closures of it are made, with as many captures as it has."""
    count = next((len(f.captures) for f in program.functions if f.name == node.target), 0)
    makers = [u for u in node.users if u.op == "call_function" and op_of(u) == "closure"]
    fit = all(u.args[:1] == (node,) and operands(u.args).count(node) == 1 and len(u.args) == count + 1 for u in makers)
    return count > 0 and len(makers) == len(node.users) and fit


def _call(node: fx.Node, check: Check | None) -> Iterator[str]:
    op = node.meta.get("op")
    if op is None or "type" not in node.meta:
        yield f"{node.name}: a call without operator or type"
        return
    if op == "getitem" and len(node.args) != 2:
        yield f"{node.name}: getitem takes a sequence and an index"
    elif op == "getitem":
        sequence, index = types_in(node.args)
        count = len(sequence.items) if isinstance(sequence, SequenceType) else 0
        if count and isinstance(index, int) and not -count <= index < count:
            yield f"{node.name}: item {index} of {count}"
    reason = None if check is None else _refusal(node, check)
    if reason:
        yield _Refusal(f"{node.name}: {op}: {reason}")


def _refusal(node: fx.Node, check: Check) -> str | None:
    """Why the grammar refuses a call, or None."""
    args, kwargs = rooted_types_in(node.args), rooted_types_in(node.kwargs)
    if node.meta["op"] in BUILTINS or is_opaque(args) or is_opaque(kwargs):
        return None
    return check(str(node.meta["op"]), args, kwargs)


def refused(program: Program, check: Check) -> frozenset[str]:
    """Operators of those calls that the grammar refuses."""
    return frozenset(op_of(node) for node in program.nodes() if _refusal(node, check))


def _regions(function: Function) -> Iterator[str]:
    order = {n.name: i for i, n in enumerate(function.body)}
    spans = []
    for region in function.regions:
        if region.first not in order or region.last not in order or order[region.first] > order[region.last]:
            yield f"form {region.form}: no contiguous range {region.first}..{region.last}"
            continue
        spans.append((order[region.first], order[region.last], region.form))
    for i, (a, b, form) in enumerate(spans):
        for c, d, other in spans[i + 1 :]:
            if not (b < c or d < a or (a <= c and d <= b) or (c <= a and b <= d)):
                yield f"forms {form} and {other} overlap without nesting"


def tensors_returned(function: Function) -> list[Any]:
    """Types of the tensors in the result, in flattened order."""
    found: list[Any] = []
    map_arg(function.result, lambda n: found.append(type_of(n)))
    return [t for t in found if isinstance(t, TensorType | UnsizedType | AnyType)]
