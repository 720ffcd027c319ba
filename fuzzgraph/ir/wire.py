"""The msgpack form of programs: what crosses pipes and lies in the store. Exact, with a format version."""

from __future__ import annotations

import math
from typing import Any

import msgpack
import torch
import torch.fx as fx

from ..errors import ProgramError
from .builtins import resolve, torch_attribute
from .program import (
    FORMAT_VERSION,
    Call,
    Closure,
    Context,
    Function,
    InputSpec,
    Program,
    Ref,
    Region,
    RunOptions,
    State,
    TorchName,
)  # fmt: skip
from .types import AnyType, FunctionType, NoneType, ScalarType, SequenceType, TensorType, Type, UnsizedType
from .values import Values

_TORCH_OBJECTS = (torch.dtype, torch.memory_format, torch.layout)


def torch_object(path: str) -> Any:
    """The dtype, memory format or layout of that path, else a TorchName. Raises ProgramError where torch lacks it."""
    head, _, rest = path.partition(".")
    found = torch_attribute(rest) if head == "torch" and rest else None
    if found is None:
        raise ProgramError(f"{path!r} is not a name in torch", hint="such as torch.float16 or torch.Tensor.__add__")
    return found if isinstance(found, _TORCH_OBJECTS) else TorchName(path)


def pack_value(value: Any) -> Any:
    """A literal, node reference or Type as plain msgpack data; unpack_value is the inverse."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        return _one_nan(value)
    if isinstance(value, torch.device):
        return {"$": "device", "v": str(value)}
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else {"$": "int", "v": str(value)}
    if isinstance(value, fx.Node):
        return {"$": "node", "v": value.name}
    if isinstance(value, Ref):
        return {"$": "ref", "v": value.name}
    if isinstance(value, TorchName):
        return {"$": "torch", "v": value.path}
    if isinstance(value, _TORCH_OBJECTS):
        return {"$": "torch", "v": str(value)}
    if isinstance(value, tuple):
        return {"$": "tuple", "v": [pack_value(v) for v in value]}
    if isinstance(value, list):
        return [pack_value(v) for v in value]
    if isinstance(value, dict):
        return {"$": "dict", "v": [[pack_value(k), pack_value(v)] for k, v in value.items()]}
    if isinstance(value, complex):
        return {"$": "complex", "v": [_one_nan(value.real), _one_nan(value.imag)]}
    if isinstance(value, slice):
        return {"$": "slice", "v": [pack_value(v) for v in (value.start, value.stop, value.step)]}
    if value is Ellipsis:
        return {"$": "ellipsis"}
    if isinstance(value, Type):
        return {"$": "type", "v": pack_type(value)}
    raise ProgramError(f"a program cannot hold {type(value).__name__} {value!r}")


def _one_nan(value: float) -> float:
    """Equal bits for all nans: the text form has no sign or payload for them."""
    return value if value == value else math.nan


def unpack_value(data: Any, nodes: dict[str, fx.Node] | None = None) -> Any:
    """Inverse of pack_value; `nodes` gives the nodes that references name."""
    if isinstance(data, list):
        return [unpack_value(v, nodes) for v in data]
    if not isinstance(data, dict):
        return data
    kind = data["$"]
    v: Any = data.get("v")
    if kind == "node":
        if nodes is None or v not in nodes:
            raise ProgramError(f"value {v!r} is used before it is made")
        return nodes[v]
    simple: dict[str, Any] = {
        "int": int, "ref": Ref, "torch": torch_object, "ellipsis": lambda _: Ellipsis, "type": unpack_type,
        "complex": lambda v: complex(*v), "device": torch.device,
    }  # fmt: skip
    if kind in simple:
        return simple[kind](v)
    if kind == "tuple":
        return tuple(unpack_value(x, nodes) for x in v)
    if kind == "dict":
        return {unpack_value(k, nodes): unpack_value(x, nodes) for k, x in v}
    if kind == "slice":
        return slice(*(unpack_value(x, nodes) for x in v))
    raise ProgramError(f"unknown value kind {kind!r}", hint="written by a newer fuzzgraph?")


def pack_type(t: Type) -> Any:
    if isinstance(t, TensorType):
        return ["tensor", t.dtype, list(t.shape), list(t.stride), t.offset, t.device, t.requires_grad, t.alias]
    if isinstance(t, UnsizedType):
        return ["unsized", t.dtype, list(t.shape), t.device, t.requires_grad, t.alias]
    if isinstance(t, ScalarType):
        return ["scalar", t.kind] if t.value is None else ["scalar", t.kind, t.value]
    if isinstance(t, SequenceType):
        return ["sequence", t.kind, [pack_type(i) for i in t.items]]
    if isinstance(t, FunctionType):
        return ["function", t.code] if t.code else ["function"]
    return ["none"] if isinstance(t, NoneType) else ["any"]


def unpack_type(data: Any) -> Type:
    head, *rest = data
    if head == "tensor":
        dtype, shape, stride, offset, device, grad, alias = rest
        return TensorType(dtype, tuple(shape), tuple(stride), offset, device, grad, alias)
    if head == "unsized":
        return UnsizedType(rest[0], tuple(rest[1]), *rest[2:])
    if head == "scalar":
        return ScalarType(*rest)
    if head == "sequence":
        return SequenceType(rest[0], tuple(unpack_type(i) for i in rest[1]))
    if head == "function":
        return FunctionType(*rest)
    return NoneType() if head == "none" else AnyType()


def pack_spec(s: InputSpec) -> Any:
    values = [s.values.kind, [pack_value(p) for p in s.values.params], s.values.seed]
    return [s.name, pack_type(s.type), values, s.storage, list(s.dynamic), s.view_of]


def unpack_spec(d: Any) -> InputSpec:
    kind, params, seed = d[2]
    declared = unpack_type(d[1])
    if not isinstance(declared, TensorType):
        raise ProgramError(f"input {d[0]!r} is no tensor")
    return InputSpec(d[0], declared, Values(kind, tuple(map(unpack_value, params)), seed), d[3], tuple(d[4]), d[5])


def pack_node(node: fx.Node) -> Any:
    """[opcode, name, operator, args, kwargs, type, spelling, source]"""
    meta = node.meta
    op = meta["op"] if node.op == "call_function" else str(node.target)
    declared = meta.get("type")
    return [
        node.op, node.name, op, pack_value(tuple(node.args)), pack_value(dict(node.kwargs)),
        None if declared is None else pack_type(declared), meta.get("spelling"), meta.get("source"),
    ]  # fmt: skip


def _unpack_graph(records: Any) -> fx.Graph:
    graph = fx.Graph()
    nodes: dict[str, fx.Node] = {}
    for opcode, name, op, args, kwargs, declared, spelling, source in records:
        target: Any = resolve(op) if opcode == "call_function" else op
        node = graph.create_node(opcode, target, unpack_value(args, nodes), unpack_value(kwargs, nodes), name=name)
        if opcode != "output" and node.name != name:
            raise ProgramError(f"value name {name!r} is reserved or used twice")
        if opcode == "call_function":
            node.meta["op"] = op
        for key, value in (("type", declared and unpack_type(declared)), ("spelling", spelling), ("source", source)):
            if value is not None:
                node.meta[key] = value
        nodes[name] = node
    return graph


def to_data(p: Program) -> dict[str, Any]:
    """The program as plain data, nodes in order."""
    o = p.options
    return {
        "version": FORMAT_VERSION,
        "inputs": [pack_spec(s) for s in p.inputs],
        "constants": [pack_spec(s) for s in p.constants],
        "states": [[s.name, s.kind, pack_value(s.initial)] for s in p.states],
        "functions": [
            [f.name, list(f.captures), [pack_node(n) for n in f.graph.nodes],
             [[r.form, r.first, r.last, pack_value(r.args)] for r in f.regions]]
            for f in p.functions
        ],
        "closures": [
            [c.name, c.function, [[k, pack_value(v)] for k, v in c.bindings],
             *([c.kind, pack_value(c.args)] if (c.kind, c.args) != ("closure", ()) else [])]
            for c in p.closures
        ],
        "calls": [
            [c.function, pack_value(c.args), [[x.name, pack_value(x.args)] for x in c.contexts], c.fresh,
             *([c.plain, c.result] if c.plain or c.result else [])]
            for c in p.calls
        ],
        "options": [
            o.dynamic, o.fullgraph, o.grad, o.autocast, o.inference, o.mode,
            [[k, pack_value(v)] for k, v in o.config], *([True] if o.expects_error else []),
        ],
    }  # fmt: skip


def from_data(d: dict[str, Any]) -> Program:
    """Inverse of to_data. Raises ProgramError on another format version or damaged data."""
    if d.get("version") != FORMAT_VERSION:
        raise ProgramError(f"program format {d.get('version')!r}, this fuzzgraph reads {FORMAT_VERSION}")
    dynamic, fullgraph, grad, autocast, inference, mode, config, *broken = d["options"]
    patches = tuple((k, unpack_value(v)) for k, v in config)
    return Program(
        tuple(map(unpack_spec, d["inputs"])),
        tuple(map(unpack_spec, d["constants"])),
        tuple(State(n, k, unpack_value(v)) for n, k, v in d["states"]),
        tuple(
            Function(n, _unpack_graph(g), tuple(c), tuple(Region(f, a, b, unpack_value(x)) for f, a, b, x in r))
            for n, c, g, r in d["functions"]
        ),
        tuple(
            Closure(
                n, f, tuple((k, unpack_value(v)) for k, v in b), *([kind[0], unpack_value(kind[1])] if kind else [])
            )
            for n, f, b, *kind in d["closures"]
        ),
        tuple(
            Call(f, unpack_value(a), tuple(Context(n, unpack_value(x)) for n, x in c), fresh, *more)
            for f, a, c, fresh, *more in d["calls"]
        ),
        RunOptions(dynamic, fullgraph, grad, autocast, inference, mode, patches, any(broken)),
    )


def pack(program: Program) -> bytes:
    """The msgpack form; `unpack(pack(p)) == p`, names and types included."""
    data: bytes = msgpack.packb(to_data(program))
    return data


def unpack(data: bytes) -> Program:
    """Inverse of pack. Raises ProgramError on damaged data."""
    try:
        plain = msgpack.unpackb(data, strict_map_key=False)
    except Exception as e:  # msgpack raises many kinds on damage, all with the same meaning here
        raise ProgramError(f"damaged program data: {type(e).__name__}: {e}") from e
    try:
        return from_data(plain)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as e:
        raise ProgramError(f"damaged program data: {type(e).__name__}: {e}") from e
