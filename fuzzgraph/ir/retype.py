"""Types of all nodes again, after an input, an operator or an attribute changed."""

from __future__ import annotations

from typing import Any

import torch.fx as fx

from .builder import Builder
from .builtins import BUILTINS, OPAQUE, STATE_WRITES
from .function import FunctionBuilder
from .program import op_of, root_of, type_of
from .types import AnyType, TensorType, Type, UnsizedType
from .typing import Rejected, bind_parameters, callable_names


def retype(builder: Builder) -> None:
    """Infer the types of all nodes anew, in order. Raises Rejected where a call no longer fits its operands.

    Declared types of opaque results, and of parameters that neither the script nor an operator binds, stay; so does the
    type of the first call that no longer fits in a program that expects an error.
    """
    pass_ = _Pass(builder)
    called = {call.function for call in builder.calls}
    # What the script calls comes first: it says on which types others are called.
    for function in sorted(builder.functions.values(), key=lambda f: not called & callable_names(builder, f.name)):
        pass_.function(function)
    builder.stale = False


class _Pass:
    """One pass over a program: each function once."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.allowed = builder.options.expects_error
        self.done: set[str] = set()

    def function(self, function: FunctionBuilder) -> None:
        if function.name in self.done:
            return
        self.done.add(function.name)
        params = function.placeholders[len(function.captures) :]
        bound = bind_parameters(self.builder, function.name, [n.name for n in params])
        for node, found in zip(params, bound or [], strict=bound is not None):
            # What results of other calls are is declared.
            node.meta["type"] = type_of(node) if isinstance(found, AnyType) else found
        held: dict[Any, Type] = {}
        for node in function.nodes:
            if node.op == "get_attr":
                node.meta["type"] = self.builder.outer_type(str(node.target))
            elif node.op == "call_function":
                self.call(function, node)
                _follow_state(node, held)

    def call(self, function: FunctionBuilder, node: fx.Node) -> None:
        op = op_of(node)
        if op == "call":
            # Its result is the callee's, whose types must be right before.
            self.callee(node)
        try:
            found = function.typed(op, node.args, dict(node.kwargs))
        except Rejected:
            if not self.allowed:
                raise
            self.allowed, found = False, type_of(node)
        if not isinstance(found, AnyType) or op not in OPAQUE:
            node.meta["type"] = found
        if op not in BUILTINS:
            self.operands(function, node)

    def callee(self, node: fx.Node) -> None:
        """The function that a node calls, or a closure's code, on the types that it gets from its first caller."""
        called = node.args[0] if node.args else None
        if not isinstance(called, fx.Node) or called.op != "get_attr":
            return
        names = {c.name: c.function for c in self.builder.closures}
        callee = self.builder.functions.get(names.get(str(called.target), str(called.target)))
        if callee is None or callee.name in self.done:
            return
        for param, arg in zip(callee.placeholders[len(callee.captures) :], node.args[1:], strict=False):
            found = type_of(arg) if isinstance(arg, fx.Node) else AnyType()
            if isinstance(found, UnsizedType) and isinstance(type_of(param), TensorType):
                raise Rejected(f"{callee.name}: a size of {param.name} depends on data")
            if isinstance(found, TensorType) and not _alike(type_of(param), found):
                param.meta["type"] = found.with_(alias=None)
        self.function(callee)

    def operands(self, function: FunctionBuilder, node: fx.Node) -> None:
        """The functions among a node's operands, on the types on which it calls them."""
        for name, types in function.called(node):
            callee = self.builder.functions[name]
            if name in self.done or len(types) != len(callee.placeholders):
                continue
            for param, found in zip(callee.placeholders, types, strict=True):
                if not _alike(type_of(param), found):
                    param.meta["type"] = found
            self.function(callee)


# What finds a value in state: where the argument behind the state says, or at the end.
_FOUND = {"state.pop", "state.getitem", "state.getattr", "state.read"}


def _follow_state(node: fx.Node, held: dict[Any, Type]) -> None:
    """What is read from state has the type of what the function last put there; where it put nothing, it stays as
    declared. `held` is by state and key."""
    op = op_of(node)
    if not node.args or op not in STATE_WRITES.keys() | _FOUND:
        return
    state, *key = node.args
    if op in STATE_WRITES:
        value = node.args[-1]
        if isinstance(value, fx.Node):
            kind = type_of(value)
            held[state, str(key[0]) if STATE_WRITES[op] else "-1"] = (
                kind.with_(alias=root_of(value)) if isinstance(kind, TensorType) else kind
            )
    else:
        found = held.get((state, str(key[0]) if key else "-1"))
        if isinstance(found, TensorType) and isinstance(type_of(node), TensorType):
            node.meta["type"] = found


def _alike(old: Type, new: Type) -> bool:
    """Whether a parameter's type may stay: inference does not know the strides on which an operator calls."""
    if isinstance(old, TensorType) and isinstance(new, TensorType):
        return (old.dtype, old.shape) == (new.dtype, new.shape)
    return old == new
