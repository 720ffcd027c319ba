"""How the builder types a call: parameters from the script, results from inference, aliases from operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import torch.fx as fx
from torch.fx.node import map_arg

from .program import Call, InputSpec, Program, Ref, root_of, type_of
from .types import AnyType, NoneType, SequenceType, TensorType, Type, UnsizedType, scalar

if TYPE_CHECKING:
    from .builder import Builder

    Script: TypeAlias = "Builder | Program"  # both have inputs, constants, states, closures and calls

Check = Callable[[str, tuple[Any, ...], dict[str, Any]], "str | None"]


class Rejected(Exception):
    """A node that a rule or type inference refuses; the text is the reason. Mutators decline on it."""


def find_spec(b: Script, name: str) -> InputSpec | None:
    """The input or constant of that name."""
    return next((s for s in (*b.inputs, *b.constants) if s.name == name), None)


def callable_names(b: Script, function: str) -> set[str]:
    """The names by which a script can call a function: its own, and those of its closures."""
    return {function} | {c.name for c in b.closures if c.function == function}


def script_calls(b: Script, function: str, count: int) -> list[Call]:
    """The calls of a function, or of a closure of it, that the script makes with `count` arguments."""
    names = callable_names(b, function)
    return [call for call in b.calls if call.function in names and len(call.args) == count]


def bind_parameters(b: Script, function: str, params: list[str]) -> list[Type] | None:
    """Types of a function's parameters by the script's first call of it; None where the script never calls it.

    Parameters that share storage in any call have one root, the first of them.
    """
    calls = script_calls(b, function, len(params))
    if not calls:
        return None
    root: dict[str, str] = {}
    for call in calls:
        first: dict[str, str] = {}
        for param, arg in zip(params, call.args, strict=True):
            spec = find_spec(b, arg.name) if isinstance(arg, Ref) else None
            if spec is not None:
                root.setdefault(param, root.get(first.setdefault(spec.view_of or spec.name, param), param))
    bound = []
    for param, arg in zip(params, calls[0].args, strict=True):
        found = argument_type(b, arg)
        shared = root.get(param, param)
        bound.append(found.with_(alias=None if shared == param else shared) if isinstance(found, TensorType) else found)
    return bound


def argument_type(b: Script, value: Any) -> Type:
    """Type of what the script passes: an input's, a literal's, else opaque."""
    if isinstance(value, Ref):
        spec = find_spec(b, value.name)
        return spec.type if spec else AnyType()
    if value is None:
        return NoneType()
    if isinstance(value, bool | int | float | complex | str):
        return scalar(value)
    return AnyType()


def structure_type(structure: Any) -> Type:
    """Type of a structure of nodes and literals that a function returns; its tensors own their storage."""
    if isinstance(structure, fx.Node):
        found = type_of(structure)
        return found.with_(alias=None) if isinstance(found, TensorType | UnsizedType) else found
    if isinstance(structure, tuple | list):
        items = tuple(map(structure_type, structure))
        return SequenceType("tuple" if isinstance(structure, tuple) else "list", items)
    if structure is None:
        return NoneType()
    if isinstance(structure, bool | int | float | complex | str):
        return scalar(structure)
    return AnyType()


def operands(structure: Any) -> list[fx.Node]:
    """The nodes in a structure, in order."""
    found: list[fx.Node] = []
    map_arg(structure, found.append)
    return found


def is_opaque(structure: Any) -> bool:
    """Whether an opaque type is anywhere in a structure of types."""
    if isinstance(structure, AnyType):
        return True
    if isinstance(structure, tuple | list):
        return any(map(is_opaque, structure))
    return isinstance(structure, dict) and any(map(is_opaque, structure.values()))


def item_type(args: tuple[Any, ...], owner: str) -> Type:
    """Type of `getitem(sequence, index)`. Items without a known base share the sequence's name as root."""
    if len(args) != 2:
        raise Rejected(f"getitem: takes a sequence and an index, not {len(args)} arguments")
    sequence, index = args
    if isinstance(sequence, SequenceType) and isinstance(index, int):
        if not -len(sequence.items) <= index < len(sequence.items):
            raise Rejected(f"getitem: index {index} of {len(sequence.items)} items")
        item = sequence.items[index]
        return item.with_(alias=item.alias or owner) if isinstance(item, TensorType | UnsizedType) else item
    if isinstance(sequence, TensorType | UnsizedType):
        raise Rejected("getitem: takes an item of a tuple or list; tensors are indexed by their own operators")
    return AnyType()


def rooted(found: Type, alias_of: tuple[int | None, ...], used: list[fx.Node]) -> Type:
    """Fill in the roots of aliases: inference knows tensor operands by their flattened position only."""
    roots: list[str] = []
    for node in used:
        roots += _roots(type_of(node), node)
    return _fill(found, iter(alias_of), roots)


def _roots(t: Type, node: fx.Node) -> list[str]:
    if isinstance(t, TensorType | UnsizedType):
        return [t.alias or root_of(node)]
    return [r for i in t.items for r in _roots(i, node)] if isinstance(t, SequenceType) else []


def _fill(found: Type, alias_of: Iterator[int | None], roots: list[str]) -> Type:
    if isinstance(found, SequenceType):
        return replace(found, items=tuple(_fill(t, alias_of, roots) for t in found.items))
    if not isinstance(found, TensorType | UnsizedType):
        return found
    position = next(alias_of, None)
    return found.with_(alias=roots[position] if position is not None and position < len(roots) else None)
