"""One function under construction: its nodes, their types, its forms and its result."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch.fx as fx
from torch.fx.node import map_arg

from ..errors import ProgramError
from .builtins import OPAQUE, resolve
from .infer import Inferred
from .layers import applied, layer_of
from .nested import code_of, functions_in
from .program import Function, Region, bare_types_in, op_of, root_of, rooted_types_in, type_of, types_in
from .types import AnyType, FunctionType, NoneType, TensorType, Type
from .typing import Rejected, is_opaque, item_type, operands, rooted

if TYPE_CHECKING:
    from .builder import Builder

# Names that mean something else in the text form or in rendered source.
_RESERVED = frozenset((
    "inf", "nan", "torch", "F", "run", "make_inputs", "get_states", "get_gradients", "math", "operator",
))  # fmt: skip


def usable_name(name: str) -> None:
    """Raise ProgramError unless a value, input or function may have that name."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise ProgramError(f"{name!r} is not a usable name", hint="letters, digits and _, no Python keyword")
    if name in _RESERVED or name in dir(builtins):
        raise ProgramError(f"the name {name!r} is reserved", hint=f"choose another, such as {name}0")


class FunctionBuilder:
    """One function under construction; owns a copy of the graph."""

    def __init__(self, owner: Builder, base: Function) -> None:
        self.owner, self.name = owner, base.name
        self.captures, self.regions = base.captures, list(base.regions)
        self.graph = fx.Graph()
        self.owner.taken.update(n.name for n in base.graph.nodes)
        self._nodes: dict[str, fx.Node] = {}
        self._erased: set[str] = set()  # the graph goes on avoiding these names
        self._result: Any = None
        self._returned = False
        for node in base.graph.nodes:
            if node.op == "output":
                self._result, self._returned = self._mine(node.args[0]), True
            else:
                self._nodes[node.name] = self.graph.node_copy(node, lambda n: self._nodes[n.name])

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
    def has_result(self) -> bool:
        """Whether `returns` was called: a function under construction has none yet."""
        return self._returned

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
        self._own(args, kwargs)
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
        if op == "call":
            layer = layer_of(self.owner, self.name, args[0] if args else None)
            if layer is not None:
                found = applied(layer, types_in(args[1:]))
                if isinstance(found, TensorType) and found.alias:
                    return found.with_(alias=root_of(args[1]))
                return found
            return self.owner.result_type(args[0] if args else None)
        if op in OPAQUE:
            return AnyType()
        if is_opaque(bare_types_in(args)) or is_opaque(bare_types_in(kwargs)):
            return AnyType()
        if op == "getitem":
            return item_type(types_in(args), args[0].name if args and isinstance(args[0], fx.Node) else "")
        if self.owner.check is not None:
            reason = self.owner.check(op, rooted_types_in(args), rooted_types_in(kwargs))
            if reason:
                raise Rejected(f"{op}: {reason}")
        inferred = self._inferred(op, args, kwargs)
        if inferred.type is None:
            raise Rejected(f"{op}: {inferred.error}")
        return rooted(inferred.type, inferred.alias_of, operands((args, kwargs)))

    def called(self, node: fx.Node) -> list[tuple[str, tuple[Type, ...]]]:
        """The functions that a node has as operands, each with the types on which the operator calls it."""
        names = functions_in((node.args, dict(node.kwargs)))
        found = self._inferred(op_of(node), node.args, dict(node.kwargs)).called if names else ()
        return list(zip(names, found, strict=False))

    def _inferred(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inferred:
        if self.owner.infer is None:
            raise ProgramError(f"the type of {op} is not given and there is no type inference")

        def bare(node: fx.Node) -> Any:
            if isinstance(type_of(node), FunctionType):
                return FunctionType(code_of(self.owner.functions, str(node.target), self.owner.held))
            return bare_types_in(node)

        return self.owner.infer.infer(op, map_arg(args, bare), map_arg(kwargs, bare))

    def returns(self, structure: Any) -> None:
        """What the function returns: nodes, literals, tuples, lists, dicts."""
        self._result, self._returned = structure, True

    def erase(self, node: fx.Node) -> None:
        """Remove a node without users. Raises Rejected where it has users or is a capture."""
        self._own(node)
        if node.name in self.captures:
            raise Rejected(f"{node.name} is a capture")
        if node.users or node in operands(self._result):
            raise Rejected(f"{node.name} still has users")
        self._shrink_regions(node)
        del self._nodes[node.name]
        self._erased.add(node.name)
        self.graph.erase_node(node)

    def replace_uses(self, node: fx.Node, by: Any, keep: Iterable[fx.Node] = ()) -> None:
        """Let all users of a node (but those in `keep`) use another node or literal."""
        kept = set(keep)
        self._own(node, by)
        self.owner.stale = True
        for user in list(node.users):
            if user not in kept:
                user.args = map_arg(user.args, lambda n: by if n is node else n)
                user.kwargs = map_arg(user.kwargs, lambda n: by if n is node else n)
        self._result = map_arg(self._result, lambda n: by if n is node else n)

    def set_call(
        self, node: fx.Node, op: str, args: tuple[Any, ...], kwargs: dict[str, Any], spelling: str | None = None
    ) -> None:
        """Turn a node into another call; its type is inferred anew, its users are not (`retype` follows)."""
        self._own(node, args, kwargs)
        found = self.typed(op, args, kwargs)
        self.owner.stale = self.owner.stale or found != node.meta["type"]
        node.target, node.args, node.kwargs = resolve(op), args, kwargs
        node.meta.update(op=op, type=found)
        node.meta.pop("spelling", None)
        if spelling is not None:
            node.meta["spelling"] = spelling

    def prune(self) -> None:
        """Erase nodes that nothing uses and whose only effect is their value.

        Built-ins with effects, in-place operators (`..._`), `out=`, `inplace=True` and what gives nothing stay.
        """
        used = set(operands(self._result))
        for node in reversed(self.body):
            op = str(node.meta["op"])
            effects = op in OPAQUE or op.endswith("_") or "out" in node.kwargs or node.kwargs.get("inplace") is True
            effects = effects or isinstance(node.meta["type"], NoneType)
            if not node.users and node not in used and not effects:
                self.erase(node)

    def finish(self) -> Function:
        """The function in canonical form: reads in order of first use, unused ones dropped, outer forms first.

        Raises Rejected where a node is used before it is made or nothing was returned.
        """
        if not self._returned:
            raise Rejected(f"{self.name} returns nothing")
        out = fx.Graph()
        mapping: dict[fx.Node, fx.Node] = {}
        body = self.body
        used = [a for n in body for a in n.all_input_nodes] + operands(self._result)
        reads = list(dict.fromkeys(n for n in used if n.op == "get_attr"))
        for node in (*self.placeholders, *reads, *body):
            for operand in node.all_input_nodes:
                if operand not in mapping:
                    raise Rejected(f"{self.name}: {node.name} uses {operand.name} before it is made")
            mapping[node] = out.node_copy(node, lambda n: mapping[n])
            if mapping[node].name != node.name:
                raise ProgramError(f"value name {node.name!r} is reserved")
        out.output(map_arg(self._result, lambda n: mapping[n]))
        order = {n.name: i for i, n in enumerate(body)}
        regions = sorted(self.regions, key=lambda r: (order.get(r.first, -1), -order.get(r.last, -1)))
        return Function(self.name, out, self.captures, tuple(regions))

    def _own(self, *structures: Any) -> None:
        """Refuse nodes of other graphs: using them would change the program that they belong to."""
        for node in operands(structures):
            if node.graph is not self.graph:
                raise ProgramError(f"value {node.name} belongs to another function")

    def _create(self, opcode: str, target: Any, args: Any, kwargs: Any, name: str, place: Any) -> fx.Node:
        usable_name(name)
        if name in self._nodes:
            raise ProgramError(f"the name {name!r} is used twice in {self.name}")
        with place:
            node = self.graph.create_node(opcode, target, args, kwargs, name=name)
        if node.name != name and name in self._erased:
            node.name = name
        if node.name != name:
            self.graph.erase_node(node)
            raise ProgramError(f"the name {name!r} is reserved", hint=f"choose another, such as {name}0")
        self._nodes[name] = node
        self.owner.taken.add(name)
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
