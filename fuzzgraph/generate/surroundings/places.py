"""Where in a function something can be put, and the types of values there."""

from __future__ import annotations

import torch.fx as fx

from ...ir.builder import Builder, FunctionBuilder, Rejected
from ...ir.program import Call, root_of, type_of
from ...ir.types import TensorType, Type, scalar
from ..numbers import Numbers
from ..regions import free_positions


def first_call_of(numbers: Numbers) -> Call:
    """The first call of the function."""
    return next(c for c in numbers.b.calls if c.function == numbers.f.name)


def free_values(f: FunctionBuilder) -> list[fx.Node]:
    """The tensors that a function makes, outside of its forms."""
    body = f.body
    found = [body[i] for i in free_positions(f) if isinstance(type_of(body[i]), TensorType)]
    if not found:
        raise Rejected("no value outside of forms")
    return found


def next_to(f: FunctionBuilder, node: fx.Node) -> fx.Node | None:
    body = f.body
    return next(iter(body[body.index(node) + 1 :]), None)


def same(node: fx.Node) -> Type:
    """The type of another name for a value."""
    kind = type_of(node)
    assert isinstance(kind, TensorType)
    return kind.with_(alias=root_of(node))


def alone(node: fx.Node) -> TensorType:
    """The type of a value as a parameter that shares memory with no other."""
    kind = type_of(node)
    assert isinstance(kind, TensorType)
    return kind.with_(alias=None)


def carries_grad(node: fx.Node) -> bool:
    kind = type_of(node)
    return isinstance(kind, TensorType) and kind.requires_grad


def call_plainly(b: Builder, f: FunctionBuilder) -> None:
    """Call a new function without parameters for its effects, and do not compile it."""
    f.returns(None)
    b.add_call(Call(f.name, plain=True))


def parameter(numbers: Numbers, value: int | float) -> fx.Node:
    """A new parameter of the function, for a number."""
    return numbers.f.add_placeholder(numbers.b.fresh_name("n"), scalar(value))
