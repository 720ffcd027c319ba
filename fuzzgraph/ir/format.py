"""Program to text."""

from __future__ import annotations

import json
from typing import Any

import torch
import torch.fx as fx

from ..errors import ProgramError
from .builtins import BUILTINS
from .program import (
    FORMAT_VERSION,
    Function,
    InputSpec,
    Program,
    Ref,
    RunOptions,
    TorchName,
    op_of,
    source_of,
    spelling_of,
    type_of,
)
from .types import AnyType, NoneType, ScalarType, SequenceType, TensorType, Type, UnsizedType, contiguous_strides
from .typing import bind_parameters


def format(program: Program) -> str:
    """The canonical text: parse(format(p)) == p, types of nodes included."""
    lines = [f"fuzzgraph {FORMAT_VERSION}"]
    lines += [f"input {_spec(s)}" for s in program.inputs]
    lines += [f"const {_spec(s)}" for s in program.constants]
    lines += [f"state {s.name}: {s.kind} = {format_value(s.initial)}" for s in program.states]
    lines += _options(program.options)
    for function in program.functions:
        lines += _function(program, function)
    for c in program.closures:
        line = f"closure {c.name} = {c.function}({', '.join(f'{k} = {format_value(v)}' for k, v in c.bindings)})"
        line += f" as {c.kind}" if c.kind != "closure" else ""
        lines.append(line + (_params(c.args) if c.args else ""))
    for call in program.calls:
        line = f"call {f'{call.result} = ' if call.result else ''}{call.function}"
        line += f"({', '.join(map(format_value, call.args))})"
        if call.contexts:
            line += " with " + ", ".join(c.name + (_params(c.args) if c.args else "") for c in call.contexts)
        lines.append(line + (" fresh" if call.fresh else "") + (" plain" if call.plain else ""))
    return "\n".join(lines) + "\n"


def format_type(t: Type) -> str:
    """`f32[4, 8][1, 4]+2 grad &x`: dtype, shape, strides and offset where not contiguous, flags. `f32[?, 8]` where a
    size depends on data, `int(3)` for a number that follows from the types of others."""
    if isinstance(t, TensorType | UnsizedType):
        text = f"{t.dtype}[{', '.join('?' if n is None else str(n) for n in t.shape)}]"
        if isinstance(t, TensorType):
            text += str(list(t.stride)) if t.stride != contiguous_strides(t.shape) else ""
            text += f"+{t.offset}" if t.offset else ""
        text += " grad" if t.requires_grad else ""
        text += f" on {t.device.replace(':', '_')}" if t.device != "cpu" else ""
        return text + (f" &{t.alias}" if t.alias else "")
    if isinstance(t, ScalarType):
        return t.kind if t.value is None else f"{t.kind}({t.value!r})"
    if isinstance(t, SequenceType):
        inside = ", ".join(map(format_type, t.items))
        return f"[{inside}]" if t.kind == "list" else f"({inside}{',' if len(t.items) == 1 else ''})"
    return "none" if isinstance(t, NoneType) else "any"


def format_value(value: Any) -> str:
    """A literal or reference as the language writes it. Raises ProgramError for what it cannot say."""
    if isinstance(value, fx.Node):
        return value.name
    if isinstance(value, Ref):
        return value.name
    if isinstance(value, TorchName):
        return value.path
    if value is None or isinstance(value, bool | int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, complex):
        return f"complex({value.real!r}, {value.imag!r})"
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return str(value)
    if isinstance(value, torch.device):
        return f'device("{value}")'
    if isinstance(value, slice):
        return f"slice({', '.join(format_value(v) for v in (value.start, value.stop, value.step))})"
    if value is Ellipsis:
        return "..."
    if isinstance(value, tuple):
        return f"({', '.join(map(format_value, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{format_value(k)}: {format_value(v)}" for k, v in value.items()) + "}"
    raise ProgramError(f"a program cannot hold {type(value).__name__} {value!r}")


def _params(values: tuple[Any, ...]) -> str:
    return f"({', '.join(map(format_value, values))})"


def _spec(s: InputSpec) -> str:
    text = f"{s.name}: {format_type(s.type)}"
    if s.view_of:
        text += f" view of {s.view_of}"
    else:
        text += f" values {s.values.kind}{_params(s.values.params) if s.values.params else ''}"
        text += f" seed {s.values.seed}" if s.values.seed else ""
    text += f" storage {s.storage}" if s.storage is not None else ""
    return text + (f" dynamic{_params(s.dynamic)}" if s.dynamic else "")


def _options(o: RunOptions) -> list[str]:
    default = RunOptions()
    names = ("dynamic", "fullgraph", "grad", "autocast", "inference", "mode", "expects_error")
    lines = [f"option {n} = {format_value(getattr(o, n))}" for n in names if getattr(o, n) != getattr(default, n)]
    return lines + [f"option config.{k} = {format_value(v)}" for k, v in o.config]


def _parameters(program: Program, f: Function) -> list[str]:
    """Captures, then parameters; with types where the script's calls do not give them."""
    params = [n.name for n in f.params]
    bound = dict(zip(params, bind_parameters(program, f.name, params) or [], strict=False))
    return [
        n.name if type_of(n) == bound.get(n.name, AnyType()) else f"{n.name}: {format_type(type_of(n))}"
        for n in f.placeholders
    ]


def _function(program: Program, f: Function) -> list[str]:
    names = _parameters(program, f)
    captured, params = names[: len(f.captures)], names[len(f.captures) :]
    head = f"def {f.name}({', '.join(params)})"
    lines = ["", head + (f" capturing ({', '.join(captured)})" if captured else "") + " {"]
    depth = 1
    order = {n.name: i for i, n in enumerate(f.body)}
    widest_first = sorted(f.regions, key=lambda r: order[r.first] - order[r.last])
    for node in f.body:
        for region in widest_first:
            if region.first == node.name:
                args = _params(region.args) if region.args else ""
                lines.append("  " * depth + f"form {region.form}{args} {{")
                depth += 1
        lines.append("  " * depth + _node(node))
        for region in widest_first:
            if region.last == node.name:
                depth -= 1
                lines.append("  " * depth + "}")
    return [*lines, f"  return {format_value(f.result)}", "}"]


def _verbatim(source: str) -> str:
    plain = '"""' not in source and not source.endswith('"')
    return f'"""{source}"""' if plain else json.dumps(source)


def _node(node: fx.Node) -> str:
    args = [*map(format_value, node.args), *(f"{k} = {format_value(v)}" for k, v in node.kwargs.items())]
    op, declared = op_of(node), type_of(node)
    typed = "" if isinstance(declared, AnyType) and op in BUILTINS else f": {format_type(declared)}"
    text = f"{node.name}{typed} = {op}({', '.join(args)})"
    if source_of(node):
        text += f" {_verbatim(source_of(node))}"
    spelling = spelling_of(node)
    return text + (f" as {spelling}" if spelling else "")
