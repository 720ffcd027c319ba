"""The functions of a program as definitions at module level, and the expressions that make its closures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from torch.fx.node import map_aggregate

from ..ir.program import Closure, Function, Program, Ref
from .forms import Form
from .function import FunctionWriter
from .instances import Code, instance_of
from .literals import literal
from .names import Names

if TYPE_CHECKING:
    from ..grammar import RuleBook


class Definitions:
    """Each function is defined once as it is, where something names it, and once for each kind of its closures."""

    def __init__(self, program: Program, names: Names, book: RuleBook | None, forms: Mapping[str, Form]) -> None:
        self.program, self.names, self.book, self.forms = program, names, book, forms
        self.functions = {f.name: f for f in program.functions}
        self.before: list[list[str]] = []  # what the forms of the function just written want defined before it
        self.codes: dict[str, Code] = {}
        # Functions that others make closures of are defined as those that the program makes are.
        read = {str(n.target) for f in program.functions for n in f.graph.nodes if n.op == "get_attr"}
        inner = [Closure(f.name, f.name) for f in program.functions if f.captures and f.name in read]
        self.closures = [*program.closures, *inner]
        for closure in program.closures:
            self._code(closure)
        for closure in inner:
            names.factories[closure.function] = self._code(closure).name

    def parts(self) -> list[str]:
        """The definitions, in the order of the program's functions."""
        found: list[list[str]] = []

        def put(lines: list[str]) -> None:
            found.extend([*self.before, lines])
            self.before.clear()

        named = self._named()
        parts = set(references([c.args for c in self.program.closures]))  # written where their instances are
        for function in self.program.functions:
            own = [c for c in self.closures if c.function == function.name]
            if not function.captures and (function.name in named or not (own or function.name in parts)):
                put(self._writer(function).lines())
            for key, closure in {_key(c): c for c in reversed(own)}.items():
                if closure.kind != "closure" or function.captures:
                    put(self._instance(closure).define(self.codes[key], closure.args))
        return ["\n".join(lines) for lines in found]

    def making(self, closure: Closure) -> str:
        """The statement that makes a closure; empty where its definition is all that there is to it."""
        code = self._code(closure)
        bound = dict(closure.bindings)
        captured = {c: (self._value(bound[c]), literal(bound[c], self.names)) for c in code.captures}
        name, made = self.names.outer[closure.name], self._instance(closure).make(code, closure.args, captured)
        return "" if made == name else f"{name} = {made}"

    @property
    def modules(self) -> list[str]:
        """Names of the modules that the program makes, layers included."""
        layers = [s.name for s in self.program.states if s.kind == "layer"]
        made = [c.name for c in self.program.closures if self._instance(c).is_module]
        return [self.names.outer[name] for name in (*layers, *made)]

    def _value(self, bound: Any) -> Any:
        """What a capture is bound to: the declaration of an input or constant, or the literal or reference as it is."""
        specs = (*self.program.inputs, *self.program.constants)
        return next((s for s in specs if isinstance(bound, Ref) and s.name == bound.name), bound)

    def _instance(self, closure: Closure) -> Any:
        return instance_of(closure, self.functions)

    def _code(self, closure: Closure) -> Code:
        key = _key(closure)
        if key not in self.codes:
            function = self.functions[closure.function]
            stem = self._instance(closure).stem(function, closure.name)
            name = self.names.outer.get(stem) or self.names.fresh(stem)
            self.codes[key] = self._as_code(function, name)
        return self.codes[key]

    def _as_code(self, function: Function, name: str) -> Code:
        def body(owner: str) -> list[str]:
            return self._writer(function, owner).body()

        def function_of(other: str) -> Code:
            return self._as_code(self.functions[other], self.names.outer[other])

        return Code(function, name, self.names.outer[function.name], body, function_of)

    def _writer(self, function: Function, owner: str = "") -> FunctionWriter:
        return FunctionWriter(function, self.names, self.book, self.forms, owner, self.before)

    def _named(self) -> set[str]:
        """Functions that the script calls, that others read, or that closures hold."""
        found = {c.function for c in self.program.calls}
        for function in self.program.functions:
            found |= {str(n.target) for n in function.graph.nodes if n.op == "get_attr"}
        return found | set(references([c.bindings for c in self.program.closures]))


def references(value: Any) -> Iterator[str]:
    """Names in a structure of literals."""
    found: list[Any] = []
    map_aggregate(value, found.append)
    yield from (v.name for v in found if isinstance(v, Ref))


def _key(closure: Closure) -> str:
    return repr((closure.function, closure.kind, closure.args))
