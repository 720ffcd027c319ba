"""`make_inputs()`: inputs made anew, constants and states reset, closures made."""

from __future__ import annotations

from typing import Any

from torch.fx.node import map_aggregate

from ..ir.program import Closure, InputSpec, Program, Ref, State
from ..ir.types import contiguous_strides
from .definitions import Definitions
from .forms import indented
from .literals import literal, wrapped
from .names import Names
from .values import fill


class InputWriter:
    """Writes `make_inputs`."""

    def __init__(self, program: Program, names: Names, definitions: Definitions) -> None:
        self.program, self.names, self.definitions = program, names, definitions
        self.bases = {s.view_of for s in (*program.inputs, *program.constants) if s.view_of}
        # What views of an input are taken from.
        self.storages: dict[str, str] = {}
        early = [c for c in program.closures if not self._late(c)]
        self.closures_at_module_level = [made for c in early if (made := definitions.making(c))]
        self.late = [c for c in program.closures if c not in early]

    def lines(self) -> list[str]:
        p, outer = self.program, self.names.outer
        reset = [outer[name] for name in self._reset()]
        body = [f"global {', '.join(reset)}"] if reset else []
        for spec in (*p.inputs, *p.constants):
            body += self._tensor(spec)
        for s in p.states:
            # Layers draw their parameters.
            body += ["torch.manual_seed(0)"] if s.kind == "layer" else []
            body += _class(s, outer[s.name]) if s.kind == "class" else [f"{outer[s.name]} = {_initial(s)}"]
        body += [made for c in self.late if (made := self.definitions.making(c))]
        items = [f'"{s.name}": {outer[s.name]}' for s in p.inputs]
        body += wrapped("return {", items, "}").splitlines()
        return ["def make_inputs():", *indented(body)]

    def _reset(self) -> list[str]:
        names = [s.name for s in self.program.constants] + [s.name for s in self.program.states]
        return names + [c.name for c in self.late]

    def _late(self, closure: Closure) -> bool:
        """Whether the closure holds something that make_inputs makes anew."""
        anew = {s.name for s in (*self.program.inputs, *self.program.constants)}
        anew |= {s.name for s in self.program.states} | {c.name for c in self.program.closures}
        found: list[Any] = []

        def look(value: Any) -> Any:
            # Lists and dicts are made anew too: the program may change them.
            found.append((isinstance(value, Ref) and value.name in anew) or isinstance(value, list | dict))
            return value

        for _, value in closure.bindings:
            look(value)
            map_aggregate(value, look)
        return any(found)

    def _tensor(self, spec: InputSpec) -> list[str]:
        name, t = self.names.outer[spec.name], spec.type
        plain = t.stride == contiguous_strides(t.shape) and t.offset == 0 and spec.storage is None
        strided = f".as_strided({literal(t.shape)}, {literal(t.stride)}, {t.offset})"
        grad = ".requires_grad_()" if t.requires_grad else ""
        lines: list[str] = []
        if spec.view_of is not None:
            text = self.storages[spec.view_of] + strided
        elif spec.name in self.bases and not (plain and not grad):
            base = self.storages[spec.name] = self.names.fresh(f"{name}_storage")
            lines += f"{base} = {self._filled(spec, (self._storage_size(spec),))}".splitlines()
            text = base + strided
        else:
            self.storages[spec.name] = name
            text = self._filled(spec, t.shape) if plain else self._filled(spec, (self._storage_size(spec),)) + strided
        lines += f"{name} = {text}{grad}".splitlines()
        # Dims that turn out to be specialized are no error, other than with mark_dynamic.
        lines += [f"torch._dynamo.maybe_mark_dynamic({name}, {d})" for d in spec.dynamic]
        return lines

    def _storage_size(self, spec: InputSpec) -> int:
        return max(spec.storage or 0, spec.type.extent)

    def _filled(self, spec: InputSpec, shape: tuple[int, ...]) -> str:
        text = fill(spec.values, spec.type.dtype, shape)
        return text if spec.type.device == "cpu" else f'{text}.to("{spec.type.device}")'


def _class(state: State, name: str) -> list[str]:
    attributes = [f"{k} = {literal(v)}" for k, v in (state.initial or {}).items()]
    return [f"class {name}:", *indented(attributes or ["pass"])]


def _initial(state: State) -> str:
    if state.kind == "layer":
        name, args, kwargs = state.initial
        given = [*map(literal, args), *(f"{k}={literal(v)}" for k, v in kwargs.items())]
        return f"torch.nn.{name}({', '.join(given)})"
    if state.kind == "object":
        attributes = state.initial or {}
        return f"Object({', '.join(f'{k}={literal(v)}' for k, v in attributes.items())})"
    if state.initial is None and state.kind in ("list", "dict"):
        return {"list": "[]", "dict": "{}"}[state.kind]
    return literal(state.initial)
