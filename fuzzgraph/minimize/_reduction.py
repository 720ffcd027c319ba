"""Reduction: an edit that only takes away, and its verified result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import Any

import torch.fx as fx
from torch.fx.node import map_arg

from ..generate import Generator
from ..generate.domains import Knowledge, interval
from ..generate.hazards import hazard
from ..generate.regions import drop_misfits
from ..grammar.rule import RuleBook
from ..grammar.wants import ValueDomain
from ..ir.builder import Builder, FunctionBuilder, Rejected
from ..ir.infer import Inference
from ..ir.program import Call, InputSpec, Program, Ref, type_of
from ..ir.retype import retype
from ..ir.types import TensorType, Type, tensor
from ..ir.typing import Check, argument_type, callable_names, find_spec, operands
from ..ir.values import Values, default_kind
from ..ir.verify import refused
from ..mutators._edit import Edit, names_in_script
from ..mutators.tools import Tools
from . import Change


class Gone:
    """Stands in a result where an output was dropped."""

    def __repr__(self) -> str:
        return "GONE"


GONE = Gone()


def make_tools(book: RuleBook, infer: Inference) -> Tools:
    """What reducers work with. They take nothing from other programs."""

    def other(rng: Random) -> Program:
        raise NotImplementedError("a reducer takes nothing from other programs")

    return Tools(book, infer, Generator(book, infer), other)


def reduced(program: Program, changes: Iterable[Change], tools: Tools) -> Program:
    """The verified program after the changes. Raises Rejected where one does not apply or leaves no valid program."""
    reduction = Reduction(program, tools)
    for change in changes:
        change.apply(reduction)
    return reduction.settle()


class Reduction(Edit):
    """An edit without repairs: what no longer fits is rejected, what is no longer needed goes."""

    def __init__(self, program: Program, tools: Tools) -> None:
        super().__init__(program, tools)
        self.b.check = judgement(program, tools.book)
        self._unused = set()
        self.dead_calls: set[int] = set()

    def settle(self) -> Program:
        """The program without what nothing needs any more. Raises Rejected."""
        self.b.calls = [c for i, c in enumerate(self.b.calls) if i not in self.dead_calls]
        for f in self.functions():
            left = _without_gone(f.result)
            f.returns(None if left is GONE else left)
        self.drop_unreached()
        for f in self.functions():
            f.prune()
            self._drop_unused(f)
        self.drop_unreached()
        self.drop_inputs()
        self._give_domains()
        for f in self.functions():
            drop_misfits(self.tools.book, self.b, f, self.tools.generator.forms)
        self.b.stale = True
        program = self.b.build()
        if not program.size:
            raise Rejected("nothing is left to compile")
        new = self.problems(self.b) - self.doubtful
        if new:
            raise Rejected(f"elements of an operand of {min(new)[0]} may be out of range")
        if not self._hazardous and (reason := hazard(self.tools.book, self.adapters, self.b)):
            raise Rejected(reason)
        program = self._with_fitting_calls(program)
        if program.size > self.program.size:
            raise Rejected("it grew")
        return program

    # --- for reducers

    def find(self, function: str, name: str) -> tuple[FunctionBuilder, fx.Node]:
        """The node of that name. Raises Rejected where another change took it away."""
        f = self.b.functions.get(function)
        if f is None or name not in f.names:
            raise Rejected(f"{name} is gone")
        return f, f.node(name)

    def own(self, f: FunctionBuilder, structure: Any) -> Any:
        """A structure of the program's nodes with this reduction's nodes in their place. Raises Rejected."""
        if any(n.name not in f.names for n in operands(structure)):
            raise Rejected("an operand is gone")
        return map_arg(structure, lambda n: f.node(n.name))

    def replace(self, f: FunctionBuilder, node: fx.Node, by: Any) -> None:
        """Let all users of a node use another value, and erase it."""
        f.replace_uses(node, by)
        f.erase(node)

    def input_like(self, f: FunctionBuilder, types: list[TensorType]) -> fx.Node:
        """A new parameter of a function and new inputs for it, one for each different type in `types` (one type a
        call of the function). A constant where others than the script call the function."""
        first = types[0]
        name = self.b.fresh_name("x")
        if not self.is_open(f):
            self.b.add_constant(_plain(name, first))
            return f.read(name)
        names: dict[TensorType, str] = {}
        mine = callable_names(self.b, f.name)
        calls = [i for i, c in enumerate(self.b.calls) if c.function in mine and i not in self.dead_calls]
        if not calls:
            raise Rejected(f"nothing calls {f.name}")
        for kind in types:
            if kind not in names:
                names[kind] = name if not names else self.b.fresh_name("x")
                self.b.add_input(_plain(names[kind], kind))
        for number, i in enumerate(calls):
            call = self.b.calls[i]
            kind = types[number] if len(types) == len(calls) else first
            self.b.calls[i] = replace(call, args=(*call.args, Ref(names[kind])))
        self.b.stale = True
        return f.add_placeholder(name, first)

    # --- taking away

    def drop_inputs(self) -> None:
        """Inputs, constants and states that nothing refers to; an input whose view is needed stays."""
        super().drop_inputs()
        for _ in range(2):  # a view first, then its base
            named = {s.view_of for s in (*self.b.inputs, *self.b.constants)} | self.reads()
            named |= set(names_in_script(self.b))
            self.b.inputs = [s for s in self.b.inputs if s.name in named]
            self.b.states = [s for s in self.b.states if s.name in named]

    def _give_domains(self) -> None:
        """Values in their domain for inputs that this reduction made."""
        old = {s.name for s in (*self.program.inputs, *self.program.constants)}
        for f in self.functions():
            for doubt in Knowledge(self.tools.book, self.adapters, self.b, f).doubts():
                for name in self._inputs_behind(f, doubt.operand):
                    if name not in old:
                        spec = self.b.spec(name)
                        self.b.set_input(name, replace(spec, values=within(doubt.domain, spec)))

    def _inputs_behind(self, f: FunctionBuilder, node: fx.Node) -> list[str]:
        if node.op == "get_attr":
            return [s.name for s in self.b.constants if s.name == node.target]
        params = f.placeholders[len(f.captures) :]
        if node not in params:
            return []
        at = params.index(node)
        mine = callable_names(self.b, f.name)
        args: list[Any] = [c.args[at] for c in self.b.calls if c.function in mine and at < len(c.args)]
        return [a.name for a in args if isinstance(a, Ref) and find_spec(self.b, a.name)]


def judgement(program: Program, book: RuleBook) -> Check:
    """The grammar's judgement of calls, but for operators of which it refuses a call in this program: it does not know
    them, or is stricter than torch, and the reference run says which candidates are valid."""
    unknown = frozenset() if program.options.expects_error else refused(program, book.check)

    def check(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        return None if op in unknown else book.check(op, args, kwargs)

    return check


def within(domain: ValueDomain, spec: InputSpec) -> Values:
    """Values of a domain."""
    if domain.kind == "index":
        return Values("index", (max(int(domain.low or 0), 1),))
    if domain.kind == "between" and spec.type.info.kind in ("float", "complex"):
        return Values("uniform", interval(domain))
    if domain.kind == "between":
        low, high = interval(domain)
        return Values("ints", (int(low), int(high)))
    if domain.kind == "unique":
        return Values("permutation")
    return Values("arange") if domain.kind == "sorted" else Values("ints", (1, 9))


def call_types(program: Program, tools: Tools, function: str) -> dict[str, list[TensorType]]:
    """The types of the nodes of a function that are tensors, each in every call of the function that the script makes,
    or alone where it makes none."""
    callers = callable_names(program, function)
    calls = [c for c in program.calls if c.function in callers]
    mine = {n.name: type_of(n) for n in program.function(function).body}
    known = {_kinds(program, calls[0]): mine} if calls else {}
    for call in calls:
        if _kinds(program, call) not in known:
            known[_kinds(program, call)] = _types_alone(program, tools, function, call)
    each = [known[_kinds(program, call)] for call in calls] or [mine]
    found = {name: [types.get(name) for types in each] for name in mine}
    return {n: [t for t in ts if isinstance(t, TensorType)] for n, ts in found.items() if _all_tensors(ts)}


def _types_alone(program: Program, tools: Tools, function: str, call: Call) -> dict[str, Type]:
    """Types of a function's nodes if this were the only call; empty where they cannot be."""
    trial = Builder(tools.infer, judgement(program, tools.book), base=program)
    trial.calls = [call]
    try:
        retype(trial)
    except Rejected:
        return {}
    return {n.name: type_of(n) for n in trial.functions[function].body}


def _all_tensors(types: list[Type | None]) -> bool:
    return all(isinstance(t, TensorType) for t in types)


def _kinds(program: Program, call: Call) -> tuple[Any, ...]:
    return tuple(argument_type(program, a) for a in call.args)


def fresh_type(kind: TensorType, grad: bool, keep_layout: bool = False) -> TensorType:
    """The type of an input that stands for a value: contiguous, or laid out as the value is."""
    floating = kind.info.kind in ("float", "complex")
    made = kind.with_(offset=0, alias=None) if keep_layout else tensor(kind.dtype, kind.shape)
    return made.with_(device=kind.device, requires_grad=grad and floating)


def edit_result(function: str, change: Callable[[Any], Any]) -> Callable[[Reduction], None]:
    """A change of what a function returns."""

    def apply(edit: Reduction) -> None:
        f = edit.b.functions.get(function)
        if f is None:
            raise Rejected(f"{function} is gone")
        f.returns(change(f.result))
        edit.b.stale = True

    return apply


def _plain(name: str, kind: TensorType) -> InputSpec:
    return InputSpec(name, kind, Values(default_kind(kind.dtype)))


def _without_gone(structure: Any) -> Any:
    """The structure without what is gone; containers that this leaves empty are gone too."""
    if isinstance(structure, dict):
        items = {k: _without_gone(v) for k, v in structure.items()}
        some = {k: v for k, v in items.items() if v is not GONE}
        return some if some or not structure else GONE
    if isinstance(structure, tuple | list):
        kept = [w for v in structure if (w := _without_gone(v)) is not GONE]
        return (tuple(kept) if isinstance(structure, tuple) else kept) if kept or not structure else GONE
    return structure
