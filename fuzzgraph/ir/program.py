"""Programs: typed FX graphs with input specs, Python state, a script of calls and run options.

All classes are frozen; a function's graph is never modified after construction. `builder.Builder` is the only maker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

import torch.fx as fx
from torch.fx.node import map_arg

from .types import AnyType, TensorType, Type, UnsizedType
from .values import Values

FORMAT_VERSION = 1


@dataclass(frozen=True)
class TorchName:
    """A torch object given by its dotted path (`torch.Tensor.__add__`), other than a dtype, layout or memory format."""

    path: str


@dataclass(frozen=True)
class InputSpec:
    """A tensor that exists before the program runs.

    `type` gives shape, strides and offset (any: expanded, overlapping, with gaps). `storage` is the storage's size in
    elements where it is larger than the type needs. `dynamic` lists dims marked dynamic. `view_of` names an earlier
    input whose storage this one shares (same dtype).
    """

    name: str
    type: TensorType
    values: Values = Values()  # noqa: RUF009 - frozen
    storage: int | None = None
    dynamic: tuple[int, ...] = ()
    view_of: str | None = None


@dataclass(frozen=True)
class State:
    """Python state outside the functions: `kind` is list, dict, object (attributes), global (a name to rebind) or layer
    (a module of torch.nn; `initial` is its class's name, arguments and keyword arguments)."""

    name: str
    kind: str
    initial: Any = None


@dataclass(frozen=True)
class Region:
    """A contiguous, nestable range of nodes (first to last, by name) written with a Python form."""

    form: str
    first: str
    last: str
    args: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Closure:
    """An instance of a function's code with values for its captures; instances share one code object.

    `kind` says what holds the values and what calls mean (`render.instances`): a Python closure, a module, a custom
    operator, ...; `args` are the kind's own, which may name functions (`Ref`).
    """

    name: str
    function: str
    bindings: tuple[tuple[str, Any], ...] = ()
    kind: str = "closure"
    args: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Context:
    """A `with` block around a call: no_grad, enable_grad, inference_mode, autocast(dtype), default_dtype(dtype)."""

    name: str
    args: tuple[Any, ...] = ()


# The contexts there are, and how many arguments each takes.
CONTEXTS: dict[str, int] = {"no_grad": 0, "enable_grad": 0, "inference_mode": 0, "autocast": 1, "default_dtype": 1}


@dataclass(frozen=True)
class Call:
    """One call of the script: a function or closure, on inputs and results of earlier calls (`Ref`) or literals.

    `fresh` compiles anew instead of reusing the object compiled by the first call of that name. `plain` does not
    compile: what such a call gives to others, they get as eager makes it. `result` names what the call returns.
    """

    function: str
    args: tuple[Any, ...] = ()
    contexts: tuple[Context, ...] = ()
    fresh: bool = False
    plain: bool = False
    result: str | None = None


@dataclass(frozen=True)
class Ref:
    """The name of an input where an argument may also be a literal."""

    name: str


@dataclass(frozen=True)
class RunOptions:
    """How a program is compiled and run.

    `grad`: run backward from all floating-point results. `autocast`: a dtype name. `config`: patches such as
    ("inductor.cpp.simdlen", 1), applied to the compiled run only. `expects_error`: one call violates a precondition of
    its operator on purpose, so that eager is to raise.
    """

    dynamic: bool | None = None
    fullgraph: bool = False
    grad: bool = False
    autocast: str | None = None
    inference: bool = False
    mode: str | None = None
    config: tuple[tuple[str, Any], ...] = ()
    expects_error: bool = False


@dataclass(frozen=True, eq=False)
class Function:
    """One function: its FX graph, the captures among its placeholders (they come first), and its regions."""

    name: str
    graph: fx.Graph = field(repr=False)
    captures: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()

    @property
    def placeholders(self) -> list[fx.Node]:
        return [n for n in self.graph.nodes if n.op == "placeholder"]

    @property
    def params(self) -> list[fx.Node]:
        """Placeholders that a caller fills, captures left out."""
        return self.placeholders[len(self.captures) :]

    @property
    def body(self) -> list[fx.Node]:
        """The operator nodes, in order."""
        return [n for n in self.graph.nodes if n.op == "call_function"]

    @property
    def result(self) -> Any:
        """What the function returns: a structure of nodes and literals."""
        return next(n for n in self.graph.nodes if n.op == "output").args[0]


@dataclass(frozen=True, eq=False)
class Program:
    """An immutable program. Equal programs have equal text; `hash.content_hash` ignores names."""

    inputs: tuple[InputSpec, ...] = ()
    constants: tuple[InputSpec, ...] = ()
    states: tuple[State, ...] = ()
    functions: tuple[Function, ...] = ()
    closures: tuple[Closure, ...] = ()
    calls: tuple[Call, ...] = ()
    options: RunOptions = RunOptions()

    def function(self, name: str) -> Function:
        """The function of that name, or the code of the closure of that name. Raises KeyError."""
        for closure in self.closures:
            if closure.name == name:
                name = closure.function
        for function in self.functions:
            if function.name == name:
                return function
        raise KeyError(name)

    def input(self, name: str) -> InputSpec:
        """The input or constant of that name. Raises KeyError."""
        for spec in (*self.inputs, *self.constants):
            if spec.name == name:
                return spec
        raise KeyError(name)

    def nodes(self) -> Iterator[fx.Node]:
        """All operator nodes of all functions."""
        for function in self.functions:
            yield from function.body

    @property
    def size(self) -> int:
        """Number of operator nodes."""
        return sum(1 for _ in self.nodes())

    def with_options(self, **changes: Any) -> Program:
        return replace(self, options=replace(self.options, **changes))

    def __eq__(self, other: object) -> bool:
        from .wire import pack

        return isinstance(other, Program) and pack(self) == pack(other)

    def __hash__(self) -> int:
        from .wire import pack

        return hash(pack(self))


def op_of(node: fx.Node) -> str:
    """The operator's name of a call_function node; the constant's or state's name of a get_attr node."""
    return str(node.meta["op"]) if node.op == "call_function" else str(node.target)


def type_of(node: fx.Node) -> Type:
    return cast(Type, node.meta.get("type", AnyType()))


def spelling_of(node: fx.Node) -> str | None:
    return cast("str | None", node.meta.get("spelling"))


def source_of(node: fx.Node) -> str:
    """Verbatim source of a `python` node."""
    return str(node.meta.get("source", ""))


def types_in(args: Any) -> Any:
    """Arguments of a node with its type in place of each node."""
    return map_arg(args, cast("Callable[[fx.Node], Any]", type_of))


def rooted_types_in(args: Any) -> Any:
    """As types_in, but `alias` is the root of every tensor, a root's own too: what the grammar's check takes."""
    return map_arg(args, lambda n: _with_alias(type_of(n), root_of(n)))


def bare_types_in(args: Any) -> Any:
    """As types_in, without aliases, whose names say nothing to type inference."""
    return map_arg(args, lambda n: _with_alias(type_of(n), None))


def _with_alias(kind: Type, alias: str | None) -> Any:
    return kind.with_(alias=alias) if isinstance(kind, TensorType | UnsizedType) else kind


def root_of(node: fx.Node) -> str:
    """Name of the value whose storage a node's tensor lives in."""
    kind = type_of(node)
    return kind.alias if isinstance(kind, TensorType | UnsizedType) and kind.alias else node.name
