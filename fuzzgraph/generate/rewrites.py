"""Rewrites of a program that compute exactly the same, for the equivalence oracle.

Each is one change: identity calls around an operand, swapped operands, a call moved into a function of its own, results
in another order or along with an intermediate. The operators are named in `grammar/rewrites.toml`.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import torch.fx as fx
from torch.fx.node import map_arg

from ..errors import RuleError
from ..grammar.rule import RuleBook
from ..ir.builder import Builder, FunctionBuilder, Rejected
from ..ir.program import Program, root_of, type_of
from ..ir.types import TensorType
from ..ir.typing import operands
from ..oracles._variants import Variant
from ..resources import data_dir
from .domains import written_nodes


class Rewriter:
    """Rewrites programs; each result is verified, and a function of (program, rng state)."""

    def __init__(self, book: RuleBook, infer: Any) -> None:
        self.book, self.infer = book, infer

    def rewrite(self, program: Program, rng: Random) -> Variant | None:
        """One rewrite that applies, of those in random order; None where none does."""
        names = list(REWRITES)
        rng.shuffle(names)
        for name in names:
            b = Builder(self.infer, self.book.check, base=program)
            f = rng.choice(list(b.functions.values()))
            try:
                undo = REWRITES[name](self, b, f, rng)
                b.stale = True
                return Variant(name, b.build(), undo)
            except Rejected:
                continue
        return None

    # --- rewrites: each changes the function, or raises Rejected, and returns how its results are undone

    def identity(self, b: Builder, f: FunctionBuilder, rng: Random) -> str:
        """An operand goes through a call that changes nothing."""
        node, operand = self._operand(f, rng)
        entry = rng.choice(_table()["identity"])
        self._put(f, node, operand, _call(f, node, entry, operand))
        return ""

    def reshaped(self, b: Builder, f: FunctionBuilder, rng: Random) -> str:
        """An operand goes through another shape and back."""
        node, operand = self._operand(f, rng)
        entry = rng.choice(_table()["there_and_back"])
        there = _call(f, node, entry["there"], operand)
        self._put(f, node, operand, _call(f, node, entry["back"], operand, there))
        return ""

    def swapped(self, b: Builder, f: FunctionBuilder, rng: Random) -> str:
        """The operands of a commutative operator change places."""
        names = _table()["commutative"]
        found = [n for n in f.body if n.meta["op"] in names and len(n.args) == 2 and not n.kwargs and self._fresh(n)]
        node = _choice(found, rng)
        f.set_call(node, str(node.meta["op"]), (node.args[1], node.args[0]), {})
        return ""

    def outlined(self, b: Builder, f: FunctionBuilder, rng: Random) -> str:
        """One call moves into a function of its own."""
        node = _choice([n for n in f.body if self._fresh(n)], rng)
        used = list(dict.fromkeys(operands((node.args, dict(node.kwargs)))))
        g = b.function(b.fresh_name("g"), [(b.fresh_name(f"p{i}_"), type_of(n)) for i, n in enumerate(used)])
        inside = dict(zip(used, g.placeholders, strict=True))
        args, kwargs = _mapped(node, lambda n: inside[n])
        g.returns(g.op(str(node.meta["op"]), args, kwargs, spelling=node.meta.get("spelling")))
        f.set_call(node, "call", (f.read(g.name), *used), {})
        return ""

    def reordered(self, b: Builder, f: FunctionBuilder, rng: Random) -> str:
        """Results in reverse order."""
        result = f.result
        if not isinstance(result, tuple | list) or len(result) < 2:
            raise Rejected("no results to reorder")
        self._only(b, f)
        f.returns(tuple(reversed(result)) if isinstance(result, tuple) else [*reversed(result)])
        return "reversed"

    def shown(self, b: Builder, f: FunctionBuilder, rng: Random) -> str:
        """An intermediate is returned along with the result, so that it has to be made."""
        self._only(b, f)
        returned = operands(f.result)
        hidden = [n for n in f.body if self._fresh(n) and n not in returned]
        f.returns((f.result, _choice(hidden, rng)))
        return "first"

    # --- what they share

    def _only(self, b: Builder, f: FunctionBuilder) -> None:
        if {call.function for call in b.calls} != {f.name}:
            raise Rejected("results of several functions")

    def _fresh(self, node: fx.Node) -> bool:
        """Whether a call is of a rule, writes nothing, draws nothing, and makes one tensor of its own memory."""
        rule = self.book.rules.get(str(node.meta["op"]))
        if rule is None or rule.tags & {"random", "inplace", "view"} or "out" in node.kwargs:
            return False
        own = isinstance(type_of(node), TensorType) and root_of(node) == node.name
        return own and not written_nodes(self.book, node)

    def _operand(self, f: FunctionBuilder, rng: Random) -> tuple[fx.Node, fx.Node]:
        """A call that makes memory of its own, and a tensor that it reads."""
        found = [(n, x) for n in f.body if self._fresh(n) for x in n.all_input_nodes]
        return _choice([(n, x) for n, x in found if isinstance(type_of(x), TensorType)], rng)

    def _put(self, f: FunctionBuilder, node: fx.Node, old: fx.Node, new: fx.Node) -> None:
        before, after = _tensor(old), _tensor(new)
        if (before.dtype, before.shape) != (after.dtype, after.shape):
            raise Rejected("not the same")
        args, kwargs = _mapped(node, lambda n: new if n is old else n)
        f.set_call(node, str(node.meta["op"]), args, kwargs, node.meta.get("spelling"))


REWRITES: Mapping[str, Callable[[Rewriter, Builder, FunctionBuilder, Random], str]] = {
    name: getattr(Rewriter, name) for name in ("identity", "reshaped", "swapped", "outlined", "reordered", "shown")
}


def _choice(found: list[Any], rng: Random) -> Any:
    if not found:
        raise Rejected("it does not apply")
    return rng.choice(found)


def _mapped(node: fx.Node, by: Callable[[fx.Node], fx.Node]) -> tuple[Any, Any]:
    """A node's args and kwargs with other operands."""
    return map_arg(tuple(node.args), by), map_arg(dict(node.kwargs), by)


def _tensor(node: fx.Node) -> TensorType:
    kind = type_of(node)
    if not isinstance(kind, TensorType):
        raise Rejected(f"{node.name} is no tensor")
    return kind


def _call(f: FunctionBuilder, before: fx.Node, entry: Any, x: fx.Node, y: fx.Node | None = None) -> fx.Node:
    """A call of the table before a node."""
    places = {"$x": x, "$y": y}

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(filled, value))
        return places.get(value, value) if isinstance(value, str) else value

    return f.op(entry["op"], tuple(map(filled, entry["args"])), before=before)


@functools.cache
def _table() -> Mapping[str, Any]:
    path = data_dir("grammar") / "rewrites.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise RuleError(str(error), where=str(path)) from None
    wanted = {"commutative", "identity", "there_and_back"}
    if data.keys() != wanted:
        raise RuleError(f"its tables are {sorted(data)}, expected {sorted(wanted)}", where=str(path))
    return data
