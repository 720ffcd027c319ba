"""Edit: one attempt to change a program, with types and domains put right again at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import torch.fx as fx
from torch.fx.node import map_arg

from ..generate.domains import Knowledge
from ..generate.fit import Fitter
from ..generate.hazards import flow_at, hazard
from ..generate.options import set_needs
from ..generate.pool import ProgramSource
from ..generate.regions import drop_misfits
from ..grammar.wants import ShapeWant, Want
from ..ir.builder import Builder, FunctionBuilder, Rejected
from ..ir.builtins import OPAQUE
from ..ir.hash import content_hash
from ..ir.nested import called_by_operators
from ..ir.program import Call, InputSpec, Program, Ref, op_of, type_of
from ..ir.retype import retype
from ..ir.types import AnyType, TensorType, Type, UnsizedType
from ..ir.typing import argument_type, bind_parameters, callable_names, operands
from .tools import Tools

# Attempts of one mutation before it declines; a failed one costs about as much as a good one.
TRIES = 4
# Elements of one tensor: larger ones only cost time.
MAX_ELEMENTS = 1 << 20

Place = tuple[FunctionBuilder, fx.Node]


def attempt(
    program: Program, rng: Random, tools: Tools, change: Callable[[Edit, Random], bool], tries: int = TRIES
) -> Program | None:
    """The program after `change`, if it is valid and another one; None after a few attempts.

    `change` returns whether it changed anything, or raises Rejected. A program that is made to raise stays as it is.
    """
    if program.options.expects_error:
        return None
    before = content_hash(program)
    for _ in range(tries):
        try:
            edit = Edit(program, tools)
            if change(edit, rng):
                found = edit.finish(rng)
                if content_hash(found) != before:
                    return found
        except Rejected:
            continue
    return None


class Edit:
    """A builder that starts from a program, and what mutators ask of it."""

    def __init__(self, program: Program, tools: Tools) -> None:
        self.program, self.tools = program, tools
        self.b = Builder(tools.infer, tools.book.check, base=program)
        self.adapters = tools.generator.adapters
        self.doubtful = self.problems(self.b) if program.size else set()
        self._hazardous = hazard(tools.book, self.adapters, self.b) is not None
        self.contracts = self._called_by_operators()
        self._unused = {n.name for f in self.b.functions.values() for n in f.placeholders if not is_used(f, n)}

    # --- choosing

    def functions(self) -> list[FunctionBuilder]:
        return list(self.b.functions.values())

    def nodes(self, accept: Callable[[fx.Node], bool]) -> list[Place]:
        """Operator nodes of all functions that `accept` takes."""
        return [(f, n) for f in self.functions() for n in f.body if accept(n)]

    def choose(self, accept: Callable[[fx.Node], bool], rng: Random) -> Place:
        """One of those nodes. Raises Rejected where there is none."""
        found = self.nodes(accept)
        if not found:
            raise Rejected("no such node")
        return rng.choice(found)

    def has_rule(self, node: fx.Node) -> bool:
        return str(node.meta["op"]) in self.tools.book.rules and not opaque_operands(node)

    def function(self, rng: Random) -> FunctionBuilder:
        """A function to work in. Raises Rejected where there is none with a result."""
        found = [f for f in self.functions() if f.has_result and any(True for _ in tensors(f))]
        if not found:
            raise Rejected("no function with tensors")
        return rng.choice(found)

    def source(self, f: FunctionBuilder, before: fx.Node | None, prefer: fx.Node | None = None) -> ProgramSource:
        """Operands for a new node before another one, or at the end."""
        source = ProgramSource(
            self.tools.book, self.b, f, self.tools.generator.profile, self.adapters, grad=self.b.options.grad,
            before=before, fresh_inputs=self.is_open(f), prefer=prefer,
        )  # fmt: skip
        source.grow = self.tools.generator.grow if source.fresh_inputs else None
        return source

    def is_open(self, f: FunctionBuilder) -> bool:
        """Whether parameters can be added: only the script calls the function."""
        return self.is_alone(f.name)

    def is_alone(self, name: str) -> bool:
        """Whether no function reads, and no closure holds, that function or a closure of it."""
        names = callable_names(self.b, name)
        readers = (n for g in self.functions() for n in g.nodes if n.op == "get_attr")
        return not any(str(n.target) in names for n in readers) and not names.intersection(names_in_script(self.b))

    # --- changing

    def fitter(self, f: FunctionBuilder, before: fx.Node | None) -> Fitter:
        know = Knowledge(self.tools.book, self.adapters, self.b, f)

        def may_write(node: fx.Node) -> bool:
            return flow_at(self.tools.book, self.adapters, f, before).may_write(node)

        return Fitter(self.adapters, know, f, may_write)

    def fitted(
        self, f: FunctionBuilder, node: fx.Node, kind: TensorType, rng: Random, before: fx.Node | None
    ) -> fx.Node:
        """A value of that dtype and shape made from `node`. Raises Rejected."""
        want = Want(frozenset({kind.dtype}), ShapeWant(head=kind.shape))
        found = self.fitter(f, before).fit(node, want, rng, before)
        if found is None:
            raise Rejected(f"{node.name} cannot be made to fit")
        return found

    def bind_new_inputs(self, f: FunctionBuilder) -> None:
        """Pass the parameters that a source added to each call of the function."""
        names = [n.name for n in f.placeholders[len(f.captures) :]]
        callers = callable_names(self.b, f.name)
        for i, call in enumerate(self.b.calls):
            if call.function in callers and len(call.args) < len(names):
                more = tuple(Ref(n) for n in names[len(call.args) :])
                self.b.calls[i] = replace(call, args=(*call.args, *more))
        self.b.stale = True

    # --- finishing

    def finish(self, rng: Random) -> Program:
        """The program, retyped, repaired and verified. Raises Rejected."""
        for f in self.functions():
            self._retype(f, rng)
        for f in self.functions():
            self._repair_domains(f, rng)
            f.prune()
            self._drop_unused(f)
            drop_misfits(self.tools.book, self.b, f, self.tools.generator.forms)
        self.drop_unreached()
        self.b.stale = True
        set_needs(self.tools.book, self.b)
        program = self.b.build()
        self._keep_contracts()
        if not program.size:
            raise Rejected("nothing is left to compile")
        too_large = (n for n in program.nodes() if _elements(type_of(n)) > MAX_ELEMENTS)
        large = next(too_large, None)
        if large is not None:
            raise Rejected(f"{large.name} has too many elements")
        new = self.problems(self.b) - self.doubtful
        if new:
            raise Rejected(f"elements of an operand of {min(new)[0]} may be out of range")
        if not self._hazardous and (reason := hazard(self.tools.book, self.adapters, self.b)):
            raise Rejected(reason)
        return self._with_fitting_calls(program)

    def _called_by_operators(self) -> dict[str, Contract]:
        called = called_by_operators(n for f in self.functions() for n in f.body)
        return {name: Contract.of(self.b.functions[name]) for name in sorted(called)}

    def _keep_contracts(self) -> None:
        """Raises Rejected where a function that an operator calls gives what it did not give before, or may loop for
        ever."""
        if not self.contracts:
            return
        rules = self.tools.book.rules
        loops = called_by_operators(
            n for f in self.functions() for n in f.body if "loop" in getattr(rules.get(op_of(n)), "tags", ())
        )
        for name, now in self._called_by_operators().items():
            before = self.contracts.get(name)
            if before is not None and not now.keeps(before):
                raise Rejected(f"{name} is called by an operator, and gives something else than before")
            if before is not None and name in loops and now.control != before.control:
                raise Rejected(f"{name} decides when a loop ends")

    def _retype(self, f: FunctionBuilder, rng: Random) -> None:
        """Types anew, in order; where a call no longer fits, its operands are adapted to the types that they had."""
        before = {n: type_of(n) for n in f.nodes}
        params = f.placeholders[len(f.captures) :]
        for node, found in zip(params, bind_parameters(self.b, f.name, [n.name for n in params]) or [], strict=False):
            node.meta["type"] = found
        for node in f.nodes:
            if node.op == "get_attr":
                node.meta["type"] = self.b.outer_type(str(node.target))
            if node.op != "call_function":
                continue
            op = str(node.meta["op"])
            try:
                found = f.typed(op, node.args, dict(node.kwargs))
            except Rejected:
                self._adapt(f, node, before, rng)
                found = f.typed(op, node.args, dict(node.kwargs))
            if not isinstance(found, AnyType) or op not in OPAQUE:
                node.meta["type"] = found

    def _adapt(self, f: FunctionBuilder, node: fx.Node, before: dict[fx.Node, Type], rng: Random) -> None:
        """Give a node operands of the dtypes and shapes that they had before the change."""
        changed: dict[fx.Node, fx.Node] = {}
        for operand in dict.fromkeys(operands((node.args, dict(node.kwargs)))):
            old, new = before.get(operand), type_of(operand)
            if not isinstance(old, TensorType) or not isinstance(new, TensorType):
                continue
            if (old.dtype, old.shape) != (new.dtype, new.shape):
                changed[operand] = self.fitted(f, operand, old, rng, node)
        if not changed:
            raise Rejected(f"{node.name} no longer fits its operands")
        substitute(node, changed)

    def _repair_domains(self, f: FunctionBuilder, rng: Random) -> None:
        """Move operands into the domains that their operators need, where the change brought them in doubt."""
        know = Knowledge(self.tools.book, self.adapters, self.b, f)
        for doubt in know.doubts():
            if (doubt.node.name, doubt.at) in self.doubtful:
                continue
            want = Want(frozenset({_dtype(doubt.operand)}), ShapeWant(ranks=(0, 8)), doubt.domain)
            found = self.fitter(f, doubt.node).fit(doubt.operand, want, rng, doubt.node)
            if found is None:
                raise Rejected(f"elements of {doubt.operand.name} may be out of range")
            substitute(doubt.node, {doubt.operand: found})

    def problems(self, b: Builder) -> set[tuple[str, int]]:
        """Operands (node and flat position) whose elements may be out of range."""
        found = set()
        for f in b.functions.values():
            know = Knowledge(self.tools.book, self.adapters, b, f)
            found |= {(d.node.name, d.at) for d in know.doubts()}
        return found

    def _drop_unused(self, f: FunctionBuilder) -> None:
        """Remove parameters that the change left unused, and inputs that nothing then refers to."""
        if not self.is_open(f):
            return
        for node in f.placeholders[len(f.captures) :]:
            if node.name in self._unused or is_used(f, node):
                continue
            position = [n.name for n in f.placeholders[len(f.captures) :]].index(node.name)
            f.erase(node)
            callers = callable_names(self.b, f.name)
            for i, call in enumerate(self.b.calls):
                if call.function in callers:
                    self.b.calls[i] = replace(call, args=call.args[:position] + call.args[position + 1 :])
        self.drop_inputs()

    def drop_unreached(self) -> None:
        """Remove functions and closures that nothing names any more."""
        while True:
            named = {c.function for c in self.b.calls} | set(names_in_script(self.b)) | self.reads()
            closures = [c for c in self.b.closures if c.name in named]
            named |= {c.function for c in closures}
            gone = {c.name for c in self.b.closures} | self.b.functions.keys()
            gone -= named
            if not gone:
                return
            self.b.closures = closures
            self.b.functions = {n: f for n, f in self.b.functions.items() if n in named}
            for f in self.functions():
                for node in [n for n in f.nodes if n.op == "get_attr" and str(n.target) in gone]:
                    f.erase(node)

    def reads(self) -> set[str]:
        """Names of constants, states, functions and closures that functions read and use."""
        return {str(n.target) for f in self.functions() for n in f.nodes if n.op == "get_attr" and is_used(f, n)}

    def drop_inputs(self) -> None:
        """Remove inputs and constants that nothing refers to any more."""
        mentioned = {s.view_of for s in self.b.inputs} | set(names_in_script(self.b))
        old = {s.name for s in self.program.inputs}
        used = set(references([c.args for c in self.program.calls]))
        self.b.inputs = [s for s in self.b.inputs if s.name in mentioned or (s.name in old and s.name not in used)]
        reads = self.reads()
        kept = reads | mentioned | {s.view_of for s in self.b.constants}
        gone = {s.name for s in self.b.constants} - kept
        self.b.constants = [s for s in self.b.constants if s.name not in gone]
        for f in self.functions():
            for node in [n for n in f.nodes if n.op == "get_attr" and str(n.target) in gone]:
                f.erase(node)

    def _fits(self, program: Program, call: Call) -> bool:
        """Whether this could be the only call: all types can be inferred, no more elements are in doubt than before."""
        trial = Builder(self.tools.infer, self.b.check, base=program)
        trial.calls = [call]
        try:
            retype(trial)
        except Rejected:
            return False
        return self.problems(trial) <= self.doubtful

    def _with_fitting_calls(self, program: Program) -> Program:
        """The program without those further calls that no longer type, on inputs of other types than the first."""
        kept: list[Call] = []
        first: dict[str, list[Any]] = {}
        for call in program.calls:
            kinds = [argument_type(program, a) for a in call.args]
            if first.setdefault(call.function, kinds) == kinds or self._fits(program, call):
                kept.append(call)
        if len(kept) == len(program.calls):
            return program
        self.b.calls = kept
        self.drop_inputs()
        return self.b.build()


def substitute(node: fx.Node, by: dict[fx.Node, fx.Node]) -> None:
    """Give a node other operands."""
    node.args = map_arg(node.args, lambda n: by.get(n, n))
    node.kwargs = map_arg(node.kwargs, lambda n: by.get(n, n))


def tensors(f: FunctionBuilder) -> Iterator[fx.Node]:
    """The tensors of a function, oldest first."""
    return (n for n in f.nodes if isinstance(type_of(n), TensorType))


def opaque_operands(node: fx.Node) -> bool:
    return any(isinstance(type_of(n), AnyType) for n in operands((node.args, dict(node.kwargs))))


def references(value: Any) -> Iterator[str]:
    """Names in a structure of literals."""
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, tuple | list):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        yield from references(list(value.values()))


@dataclass(frozen=True)
class Contract:
    """What an operator that calls a function may rely on: types of its parameters and results without strides, and how
    the results are held together. `control` is how the first result comes about: where the operator is a loop, that is
    whether it goes on, or the counter."""

    params: tuple[Any, ...]
    results: tuple[Any, ...]
    structure: str
    control: str

    @staticmethod
    def of(f: FunctionBuilder) -> Contract:
        found = operands(f.result)
        held = repr(map_arg(f.result, lambda n: found.index(n)))
        used, todo = set(), found[:1]
        while todo:
            node = todo.pop()
            used.add(node)
            todo += [n for n in node.all_input_nodes if n not in used]
        control = "; ".join(f"{n.name} = {n.meta.get('op')}{n.args}{n.kwargs}" for n in f.nodes if n in used)
        return Contract(tuple(map(_kind, f.placeholders)), tuple(map(_kind, found)), held, control)

    def keeps(self, old: Contract) -> bool:
        """Whether the types are as they were: how results must follow parameters is each operator's own affair."""
        return (self.structure, self.params, self.results) == (old.structure, old.params, old.results)


def _kind(node: fx.Node) -> Any:
    kind = type_of(node)
    return (kind.dtype, kind.shape) if isinstance(kind, TensorType | UnsizedType) else kind


def add_result(f: FunctionBuilder, node: fx.Node, rng: Random) -> None:
    """Return a value along with what the function returns."""
    old = f.result
    if isinstance(old, tuple | list):
        at = rng.randrange(len(old) + 1)
        f.returns(type(old)([*old[:at], node, *old[at:]]) if isinstance(old, tuple) else [*old[:at], node, *old[at:]])
    elif isinstance(old, dict):
        name = next(f"r{i}" for i in range(len(old) + 1) if f"r{i}" not in old)
        f.returns({**old, name: node})
    else:
        f.returns((old, node))


def input_specs(edit: Edit) -> list[InputSpec]:
    """Inputs and constants that can be changed by themselves: no views, no bases of views."""
    bases = {s.view_of for s in (*edit.b.inputs, *edit.b.constants)}
    return [s for s in (*edit.b.inputs, *edit.b.constants) if s.view_of is None and s.name not in bases]


def is_used(f: FunctionBuilder, node: fx.Node) -> bool:
    """Whether a node or the result of its function needs this one."""
    return bool(node.users) or node in operands(f.result)


def names_in_script(b: Builder) -> list[str]:
    """What the arguments of calls and of closures refer to."""
    return list(references([[c.args for c in b.calls], [(c.bindings, c.args) for c in b.closures]]))


def _dtype(node: fx.Node) -> str:
    kind = type_of(node)
    assert isinstance(kind, TensorType)
    return kind.dtype


def _elements(kind: Type) -> int:
    if isinstance(kind, TensorType):
        return kind.numel
    return max((_elements(t) for t in getattr(kind, "items", ())), default=0)
