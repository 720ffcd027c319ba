"""Functions as operands: `y = cond(p, f, g, (x,))`. Type inference gets their code as data and runs it.

Inference has no other way: what an operator that calls functions gives depends on what these do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgpack
import torch.fx as fx

from .builtins import BUILTINS, OPAQUE, resolve
from .program import op_of, type_of
from .types import FunctionType, SequenceType, TensorType, Type
from .typing import Rejected, operands
from .wire import pack_value, unpack_value

if TYPE_CHECKING:
    from .function import FunctionBuilder


def functions_in(structure: Any) -> list[str]:
    """Names of the functions among the operands of a call, in order."""
    return [str(n.target) for n in operands(structure) if isinstance(type_of(n), FunctionType)]


def called_by_operators(nodes: Iterable[fx.Node]) -> set[str]:
    """Names of the functions that operators among the nodes call; those that the program itself calls are not meant."""
    return {str(o.target) for n in nodes if n.op == "call_function" and op_of(n) not in BUILTINS
            for o in n.all_input_nodes if isinstance(type_of(o), FunctionType)}  # fmt: skip


def code_of(functions: Mapping[str, FunctionBuilder], name: str, held: Mapping[str, str] | None = None) -> bytes:
    """The function and all that it reads, in the form that `Runnable` takes. `held` are the functions of closures
    without captures, by the closures' names: what holds a function changes no type.

    Raises Rejected where a function is not finished, reads a constant or Python state, holds verbatim source, or calls
    itself.
    """
    packed: dict[str, Any] = {}
    _collect(functions, name, packed, (), held or {})
    data: bytes = msgpack.packb([name, packed])
    return data


def _collect(
    functions: Mapping[str, FunctionBuilder], name: str, packed: dict[str, Any], within: tuple[str, ...],
    held: Mapping[str, str],
) -> None:  # fmt: skip
    f = functions.get(name)
    if f is None or not f.has_result:
        raise Rejected(f"{name} is used as an operand before it is written")
    if name in within:
        raise Rejected(f"{name} calls itself")
    for node in f.nodes:
        if node.op == "get_attr":
            read = held.get(str(node.target), str(node.target))
            if read not in functions:
                raise Rejected(f"{name} is an operand and reads {node.target}, which is no function")
            if read not in packed:
                _collect(functions, read, packed, (*within, name), held)
        elif node.op == "call_function" and op_of(node) in OPAQUE - {"call"}:
            raise Rejected(f"{name} is an operand and has effects on Python state, or verbatim source")
    packed[name] = [[_record(n, held) for n in f.nodes], pack_value(f.result)]


def _record(node: fx.Node, held: Mapping[str, str]) -> list[Any]:
    op = held.get(str(node.target), op_of(node)) if node.op == "get_attr" else op_of(node)
    return [node.op, node.name, op, pack_value(tuple(node.args)), pack_value(dict(node.kwargs))]


class Runnable:
    """Calls the function that `code_of` packed, by interpreting its graph on whatever it is given.

    `called` gets what `describe` makes of the operands of the first call; None before.
    """

    def __init__(self, code: bytes, describe: Callable[[tuple[Any, ...]], Any] | None = None) -> None:
        self.name, self.functions = msgpack.unpackb(code, strict_map_key=False)
        self.describe = describe
        self.called: Any = None

    def __call__(self, *operands: Any) -> Any:
        if self.called is None and self.describe is not None:
            self.called = self.describe(operands)
        return self._run(self.name, operands)

    def _run(self, name: str, given: tuple[Any, ...]) -> Any:
        records, result = self.functions[name]
        wanted = sum(record[0] == "placeholder" for record in records)
        if wanted != len(given):
            raise TypeError(f"{name} takes {wanted} operands, not {len(given)}")
        env: dict[str, Any] = {}
        for kind, label, op, args, kwargs in records:
            if kind == "placeholder":
                env[label] = given[len(env)]
            elif kind == "get_attr":
                env[label] = lambda *inner, op=op: self._run(op, inner)
            else:
                env[label] = resolve(op)(*unpack_value(args, env), **unpack_value(kwargs, env))
        return unpack_value(result, env)


def operands_first(functions: Mapping[str, FunctionBuilder], held: Mapping[str, str]) -> list[FunctionBuilder]:
    """The functions in their order, but each behind those that it has as operands, and an operand behind all that it
    reads, as their text must be. `held` as `code_of` takes it."""
    found: dict[str, FunctionBuilder] = {}
    operands = {name for f in functions.values() for name in called_by_operators(f.body)}

    def visit(name: str, within: tuple[str, ...]) -> None:
        if name in found or name in within:
            return
        before = called_by_operators(functions[name].body)
        if name in operands or within:
            read = [str(n.target) for n in functions[name].nodes if n.op == "get_attr"]
            before |= {held.get(r, r) for r in read} & functions.keys()
        for other in sorted(before):
            visit(other, (*within, name))
        found[name] = functions[name]

    for name in functions:
        visit(name, ())
    return list(found.values())


def has_code(structure: Any) -> bool:
    """Whether a function is anywhere in a structure of types and literals, packed (`wire.pack_value`) or not."""
    if isinstance(structure, FunctionType):
        return True
    if isinstance(structure, dict):
        is_one = structure.get("$") == "type" and structure["v"][0] == "function"
        return is_one or any(map(has_code, structure.values()))
    return isinstance(structure, tuple | list) and any(map(has_code, structure))


def with_grad(kind: Type) -> Type:
    """The type with all of its tensors of floats requiring grad."""
    if isinstance(kind, SequenceType):
        return replace(kind, items=tuple(map(with_grad, kind.items)))
    if isinstance(kind, TensorType) and kind.info.kind in ("float", "complex"):
        return kind.with_(requires_grad=True)
    return kind
