"""The one maker of programs: appends, replaces and erases nodes, infers their types, and verifies the result.

    b = Builder(infer, check)
    b.add_input(InputSpec("x", tensor("f32", (4,))))
    f = b.function("f", ["x"])
    y = f.op("relu", (f.node("x"),))
    f.returns((y,))
    b.add_call(Call("f", (Ref("x"),)))
    program = b.build()
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch.fx as fx
from torch.fx.immutable_collections import immutable_dict, immutable_list

from ..errors import ProgramError
from .function import FunctionBuilder, usable_name
from .infer import Inference
from .nested import operands_first
from .program import Call, Closure, Function, InputSpec, Program, RunOptions, State
from .types import AnyType, FunctionType, Type
from .typing import Check, Rejected, find_spec, structure_type
from .values import Values

__all__ = ["Builder", "Check", "FunctionBuilder", "Rejected"]


class Builder:
    """A program under construction.

    `infer` types new nodes (None: only nodes with a given type can be added); `check` is the grammar's judgement of a
    call, None accepts all. Never touches the program it starts from.
    """

    def __init__(self, infer: Inference | None, check: Check | None = None, base: Program | None = None) -> None:
        self.infer, self.check = infer, check
        base = base or Program()
        self.inputs = list(base.inputs)
        self.constants = list(base.constants)
        self.states = list(base.states)
        self.closures = list(base.closures)
        self.calls = list(base.calls)
        self.options: RunOptions = base.options
        self.taken: set[str] = set()  # names of values, in any function
        self.stale = False  # whether some node's type may no longer follow from its operands
        self._next: dict[str, int] = {}
        self.functions = {f.name: FunctionBuilder(self, f) for f in base.functions}

    # --- what surrounds the functions

    @property
    def outer_names(self) -> set[str]:
        names = {s.name for s in (*self.inputs, *self.constants)} | {s.name for s in self.states}
        names |= {c.result for c in self.calls if c.result}
        return names | {c.name for c in self.closures} | set(self.functions)

    def fresh_name(self, stem: str) -> str:
        """A name that nothing in the program has."""
        taken = self.taken | self.outer_names
        number = self._next.get(stem, 0)
        while f"{stem}{number}" in taken:
            number += 1
        self._next[stem] = number + 1
        return f"{stem}{number}"

    def spec(self, name: str) -> InputSpec:
        """The input or constant of that name. Raises KeyError."""
        spec = find_spec(self, name)
        if spec is None:
            raise KeyError(name)
        return spec

    def add_input(self, spec: InputSpec) -> InputSpec:
        self._claim(spec.name)
        self.inputs.append(_without_values(spec))
        return self.inputs[-1]

    def add_constant(self, spec: InputSpec) -> InputSpec:
        self._claim(spec.name)
        self.constants.append(_without_values(spec))
        return self.constants[-1]

    def add_state(self, state: State) -> State:
        self._claim(state.name)
        self.states.append(replace(state, initial=_frozen(state.initial)))
        return self.states[-1]

    def add_closure(self, closure: Closure) -> Closure:
        self._claim(closure.name)
        self.closures.append(closure)
        return closure

    def add_call(self, call: Call) -> None:
        if call.result is not None:
            self._claim(call.result)
        self.calls.append(replace(call, args=tuple(map(_frozen, call.args))))

    def set_input(self, name: str, spec: InputSpec) -> None:
        """Replace an input or constant; `retype` follows."""
        for group in (self.inputs, self.constants):
            for i, old in enumerate(group):
                if old.name == name:
                    group[i] = _without_values(spec)
                    self.stale = True
                    return
        raise KeyError(name)

    def set_options(self, **changes: Any) -> None:
        self.options = replace(self.options, **changes)

    def function(
        self, name: str, params: Iterable[tuple[str, Type]] = (), captures: Iterable[tuple[str, Type]] = ()
    ) -> FunctionBuilder:
        """A new function with typed captures and parameters."""
        self._claim(name)
        graph = fx.Graph()
        captures = list(captures)
        made = FunctionBuilder(self, Function(name, graph, tuple(n for n, _ in captures)))
        self.functions[name] = made
        for n, t in (*captures, *params):
            made.add_placeholder(n, t)
        return made

    def outer_type(self, name: str) -> Type:
        """Type of what a function reads from outside by that name: a constant's tensor type, a function, else
        opaque."""
        for spec in self.constants:
            if spec.name == name:
                return spec.type.with_(alias=spec.view_of)
        # One with captures is no value: closures of it are.
        return FunctionType() if name in self.functions and not self.functions[name].captures else AnyType()

    def result_type(self, callee: Any) -> Type:
        """Type of a call of another function or closure of the program; opaque for anything else."""
        name = callee.name if isinstance(callee, fx.Node) and callee.op == "get_attr" else ""
        code = next((c.function for c in self.closures if c.name == name), name)
        known = code in self.functions and self.functions[code].has_result
        return structure_type(self.functions[code].result) if known else AnyType()

    @property
    def held(self) -> dict[str, str]:
        """The functions of closures without captures, by the closures' names."""
        return {c.name: c.function for c in self.closures if not c.bindings}

    def build(self) -> Program:
        """The verified program, its types inferred anew where a change made them doubtful.

        Raises Rejected with the first problem.
        """
        from .retype import retype
        from .verify import verify

        if self.stale and self.infer is not None:
            retype(self)
        functions = tuple(f.finish() for f in operands_first(self.functions, self.held))
        program = Program(
            tuple(self.inputs), tuple(self.constants), tuple(self.states), functions, tuple(self.closures),
            tuple(self.calls), self.options,
        )  # fmt: skip
        problems = verify(program, self.check)
        if problems:
            raise Rejected(problems[0])
        return program

    def _claim(self, name: str) -> None:
        usable_name(name)
        if name in self.outer_names:
            raise ProgramError(f"the name {name!r} is used twice")


def _without_values(spec: InputSpec) -> InputSpec:
    """A view's values are its base's: it has none of its own."""
    return replace(spec, values=Values()) if spec.view_of else spec


def _frozen(value: Any) -> Any:
    """The literal with lists and dicts that refuse to be modified, since programs share them."""
    if isinstance(value, list):
        return immutable_list(map(_frozen, value))
    if isinstance(value, dict):
        return immutable_dict({k: _frozen(v) for k, v in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, tuple) else value
