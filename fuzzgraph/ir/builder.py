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

import keyword
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch.fx as fx
from torch.fx.node import map_arg

from ..errors import ProgramError
from .builtins import BUILTINS, OPAQUE, resolve
from .infer import Inference
from .program import (
    Call,
    Closure,
    Function,
    InputSpec,
    Program,
    Ref,
    Region,
    RunOptions,
    State,
    bare_types_in,
    root_of,
    rooted_types_in,
    type_of,
    types_in,
)  # fmt: skip
from .types import AnyType, NoneType, ScalarType, SequenceType, TensorType, Type

Check = Callable[[str, tuple[Any, ...], dict[str, Any]], "str | None"]


class Rejected(Exception):
    """A node that a rule or type inference refuses; the text is the reason. Mutators decline on it."""


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
        self.functions = {f.name: FunctionBuilder(self, f) for f in base.functions}

    # --- what surrounds the functions

    @property
    def outer_names(self) -> set[str]:
        names = {s.name for s in (*self.inputs, *self.constants)} | {s.name for s in self.states}
        return names | {c.name for c in self.closures} | set(self.functions)

    def fresh_name(self, stem: str) -> str:
        """A name that nothing in the program has."""
        taken = self.outer_names.union(*(f.names for f in self.functions.values()))
        return next(n for n in (f"{stem}{i}" for i in range(len(taken) + 1)) if n not in taken)

    def spec(self, name: str) -> InputSpec:
        """The input or constant of that name. Raises KeyError."""
        for spec in (*self.inputs, *self.constants):
            if spec.name == name:
                return spec
        raise KeyError(name)

    def add_input(self, spec: InputSpec) -> InputSpec:
        self._claim(spec.name)
        self.inputs.append(spec)
        return spec

    def add_constant(self, spec: InputSpec) -> InputSpec:
        self._claim(spec.name)
        self.constants.append(spec)
        return spec

    def add_state(self, state: State) -> State:
        self._claim(state.name)
        self.states.append(state)
        return state

    def add_closure(self, closure: Closure) -> Closure:
        self._claim(closure.name)
        self.closures.append(closure)
        return closure

    def add_call(self, call: Call) -> None:
        self.calls.append(call)

    def set_input(self, name: str, spec: InputSpec) -> None:
        """Replace an input or constant; `retype` follows."""
        for group in (self.inputs, self.constants):
            for i, old in enumerate(group):
                if old.name == name:
                    group[i] = spec
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
        """Type of what a function reads from outside by that name: a constant's tensor type, else opaque."""
        for spec in self.constants:
            if spec.name == name:
                return self.rooted(spec)
        return AnyType()

    def rooted(self, spec: InputSpec) -> TensorType:
        """The type of an input as a value: its alias is the base input that it is a view of."""
        return spec.type.with_(alias=spec.view_of)

    def build(self) -> Program:
        """The verified program. Raises Rejected with the first problem."""
        from .verify import verify

        functions = tuple(f.finish() for f in self.functions.values())
        program = Program(
            tuple(self.inputs), tuple(self.constants), tuple(self.states), functions, tuple(self.closures),
            tuple(self.calls), self.options,
        )  # fmt: skip
        problems = verify(program, self.check)
        if problems:
            raise Rejected(problems[0])
        return program

    def _claim(self, name: str) -> None:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ProgramError(f"{name!r} is not a usable name", hint="letters, digits and _, no Python keyword")
        if name in self.outer_names:
            raise ProgramError(f"the name {name!r} is used twice")


class FunctionBuilder:
    """One function under construction; owns a copy of the graph."""

    def __init__(self, owner: Builder, base: Function) -> None:
        self.owner, self.name = owner, base.name
        self.captures, self.regions = base.captures, list(base.regions)
        self.graph = fx.Graph()
        self._nodes: dict[str, fx.Node] = {}
        self._result: Any = None
        self._returned = False
        for node in base.graph.nodes:
            if node.op == "output":
                self._result, self._returned = self._mine(node.args[0]), True
            else:
                copy = self.graph.node_copy(node, lambda n: self._nodes[n.name])
                self._nodes[node.name] = copy

    def _mine(self, structure: Any) -> Any:
        return map_arg(structure, lambda n: self._nodes[n.name])

    @property
    def names(self) -> set[str]:
        return set(self._nodes)

    @property
    def nodes(self) -> list[fx.Node]:
        """All nodes but the output, in order."""
        return list(self.graph.nodes)

    @property
    def body(self) -> list[fx.Node]:
        return [n for n in self.graph.nodes if n.op == "call_function"]

    @property
    def placeholders(self) -> list[fx.Node]:
        return [n for n in self.graph.nodes if n.op == "placeholder"]

    @property
    def result(self) -> Any:
        return self._result

    def node(self, name: str) -> fx.Node:
        """The node of that name in this function. Raises KeyError."""
        return self._nodes[name]

    def add_placeholder(self, name: str, declared: Type) -> fx.Node:
        """A new last parameter."""
        node = self._create("placeholder", name, (), {}, name, self._after(self.placeholders))
        node.meta["type"] = declared
        return node

    def read(self, name: str) -> fx.Node:
        """A node that reads a constant, state, function or closure from outside; one per name."""
        if name in self._nodes and self._nodes[name].op == "get_attr":
            return self._nodes[name]
        heads = [n for n in self.graph.nodes if n.op in ("placeholder", "get_attr")]
        node = self._create("get_attr", name, (), {}, name, self._after(heads))
        node.meta["type"] = self.owner.outer_type(name)
        return node

    def op(
        self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, name: str | None = None,
        spelling: str | None = None, type: Type | None = None, before: fx.Node | None = None, source: str | None = None,
    ) -> fx.Node:  # fmt: skip
        """Add one operator node, at the end or before a node, and type it (or take `type` as given).

        Raises Rejected where the grammar or inference refuses the call, and leaves the function as it was.
        """
        kwargs = dict(kwargs or {})
        found = type if type is not None else self.typed(op, args, kwargs)
        place = nullcontext() if before is None else self.graph.inserting_before(before)
        node = self._create("call_function", resolve(op), args, kwargs, name or self.owner.fresh_name("v"), place)
        node.meta.update(op=op, type=found)
        if spelling is not None:
            node.meta["spelling"] = spelling
        if source is not None:
            node.meta["source"] = source
        return node

    def typed(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Type:
        """The type that this call would have here. Raises Rejected."""
        if op in OPAQUE:
            return AnyType()
        plain_args, plain_kwargs = bare_types_in(args), bare_types_in(kwargs)
        if _opaque(plain_args) or _opaque(plain_kwargs):
            return AnyType()
        if op == "getitem":
            return _item(types_in(args))
        if self.owner.check is not None:
            reason = self.owner.check(op, rooted_types_in(args), rooted_types_in(kwargs))
            if reason:
                raise Rejected(f"{op}: {reason}")
        if self.owner.infer is None:
            raise ProgramError(f"the type of {op} is not given and there is no type inference")
        inferred = self.owner.infer.infer(op, plain_args, plain_kwargs)
        if inferred.type is None:
            raise Rejected(f"{op}: {inferred.error}")
        return _aliased(inferred.type, iter(inferred.alias_of), _operands(args, kwargs))

    def returns(self, structure: Any) -> None:
        """What the function returns: nodes, literals, tuples, lists, dicts."""
        self._result, self._returned = structure, True

    def erase(self, node: fx.Node) -> None:
        """Remove a node without users."""
        if node.users or node in _operands((self._result,), {}):
            raise Rejected(f"{node.name} still has users")
        self._shrink_regions(node)
        del self._nodes[node.name]
        self.graph.erase_node(node)

    def replace_uses(self, node: fx.Node, by: Any, keep: Iterable[fx.Node] = ()) -> None:
        """Let all users of a node (but those in `keep`) use another node or literal."""
        kept = set(keep)
        for user in list(node.users):
            if user not in kept:
                user.args = map_arg(user.args, lambda n: by if n is node else n)
                user.kwargs = map_arg(user.kwargs, lambda n: by if n is node else n)
        self._result = map_arg(self._result, lambda n: by if n is node else n)

    def set_call(
        self, node: fx.Node, op: str, args: tuple[Any, ...], kwargs: dict[str, Any], spelling: str | None = None
    ) -> None:
        """Turn a node into another call; its type is inferred anew, its users are not (`retype` follows)."""
        found = self.typed(op, args, kwargs)
        node.target, node.args, node.kwargs = resolve(op), args, kwargs
        node.meta.update(op=op, type=found)
        node.meta.pop("spelling", None)
        if spelling is not None:
            node.meta["spelling"] = spelling

    def prune(self) -> None:
        """Erase pure nodes that nothing uses. Built-ins and in-place operators (`..._`) stay."""
        used = set(_operands((self._result,), {}))
        for node in reversed(self.body):
            op = str(node.meta["op"])
            if not node.users and node not in used and op not in OPAQUE and not op.endswith("_"):
                self.erase(node)

    def finish(self) -> Function:
        """The function with its reads in order of first use and unused ones dropped."""
        out = fx.Graph()
        mapping: dict[fx.Node, fx.Node] = {}
        used = [a for n in self.body for a in n.all_input_nodes] + _operands((self._result,), {})
        reads = list(dict.fromkeys(n for n in used if n.op == "get_attr"))
        for node in (*self.placeholders, *reads, *self.body):
            mapping[node] = out.node_copy(node, lambda n: mapping[n])
            if mapping[node].name != node.name:
                raise ProgramError(f"value name {node.name!r} is reserved")
        out.output(map_arg(self._result, lambda n: mapping[n]))
        return Function(self.name, out, self.captures, tuple(self.regions))

    def _create(self, opcode: str, target: Any, args: Any, kwargs: Any, name: str, place: Any) -> fx.Node:
        if name in self._nodes:
            raise ProgramError(f"the name {name!r} is used twice in {self.name}")
        with place:
            node = self.graph.create_node(opcode, target, args, kwargs, name=name)
        if node.name != name:
            self.graph.erase_node(node)
            raise ProgramError(f"the name {name!r} is reserved", hint=f"choose another, such as {name}0")
        self._nodes[name] = node
        return node

    def _after(self, heads: list[fx.Node]) -> Any:
        """Insertion point behind the last of `heads`, or at the very start."""
        if heads:
            return self.graph.inserting_after(heads[-1])
        return self.graph.inserting_before(next(iter(self.graph.nodes))) if self._nodes else nullcontext()

    def _shrink_regions(self, node: fx.Node) -> None:
        kept: list[Region] = []
        order = [n.name for n in self.body]
        for region in self.regions:
            inside = order[order.index(region.first) : order.index(region.last) + 1]
            inside = [n for n in inside if n != node.name]
            if inside:
                kept.append(replace(region, first=inside[0], last=inside[-1]))
        self.regions = kept


def bind_parameters(b: Builder, function: str, count: int) -> list[Type]:
    """Types of a function's `count` parameters, from the first call of it (or of a closure of it) in the script."""
    names = {function} | {c.name for c in b.closures if c.function == function}
    for call in b.calls:
        if call.function in names and len(call.args) == count:
            return [b.rooted(b.spec(a.name)) if isinstance(a, Ref) else literal_type(a) for a in call.args]
    return [AnyType()] * count


def literal_type(value: Any) -> Type:
    """Type of a Python literal passed as an argument."""
    if value is None:
        return NoneType()
    if isinstance(value, bool | int | float | complex | str):
        return ScalarType(type(value).__name__)  # type: ignore[arg-type]
    return AnyType()


def _operands(args: Any, kwargs: Any) -> list[fx.Node]:
    found: list[fx.Node] = []
    map_arg((args, kwargs), found.append)
    return found


def _opaque(structure: Any) -> bool:
    if isinstance(structure, AnyType):
        return True
    if isinstance(structure, tuple | list):
        return any(map(_opaque, structure))
    return isinstance(structure, dict) and any(map(_opaque, structure.values()))


def _item(args: tuple[Any, ...]) -> Type:
    sequence, index = args
    if isinstance(sequence, SequenceType) and isinstance(index, int):
        if -len(sequence.items) <= index < len(sequence.items):
            return sequence.items[index]
        raise Rejected(f"getitem: index {index} of {len(sequence.items)} items")
    if isinstance(sequence, TensorType):
        raise Rejected("getitem: takes an item of a tuple or list; tensors are indexed by their own operators")
    return AnyType()


def _aliased(found: Type, alias_of: Any, operands: list[fx.Node]) -> Type:
    """Fill in the roots of aliases: inference knows operands by position only."""
    if isinstance(found, SequenceType):
        return replace(found, items=tuple(_aliased(t, alias_of, operands) for t in found.items))
    if not isinstance(found, TensorType):
        return found
    position = next(alias_of, None)
    tensors = [n for n in operands if isinstance(type_of(n), TensorType)]
    if position is None or position >= len(tensors):
        return found.with_(alias=None)
    return found.with_(alias=root_of(tensors[position]))


assert set(OPAQUE) < set(BUILTINS)
