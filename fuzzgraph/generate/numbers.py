"""Python numbers in programs: sizes and terms of them where literals stood, numbers of data, sizes that depend on data.

A literal is replaced by a term of equal value, so that the call stays what it was; where any number will do, by any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import torch.fx as fx

from ..grammar.model import AttributeSpec
from ..grammar.rule import Rule, RuleBook
from ..ir.builder import Builder, FunctionBuilder, Rejected
from ..ir.program import type_of
from ..ir.types import DTYPES, ScalarType, TensorType, UnsizedType
from .adapt import Adapters
from .domains import Doubt, Knowledge
from .terms import Number, Term, Terms, load_table

# Kinds of attributes in which a number may stand that is no literal.
SIZES = frozenset({"int", "ints", "value"})
NUMBERS = frozenset({"number", "float"})
TRIES = 6
# How often a number that may be any is one of data, and how often a value is chosen by a condition.
OF_DATA = 0.5
CHOSEN = 0.3
OTHERS: dict[type, tuple[int | float, ...]] = {int: (-1, 0, 1, 2, 3, 5), float: (0.0, 1.0, -1.0, 0.5, 3.0, 1e-3)}
# The remainder of an integer of data by this is small, whatever the data.
SMALL = (2, 3, 5)

Path = tuple[Any, ...]


class Numbers:
    """Brings numbers into one function. Methods return whether they did, and leave the function as it was if not."""

    def __init__(self, book: RuleBook, adapters: Adapters, b: Builder, f: FunctionBuilder) -> None:
        self.book, self.adapters, self.b, self.f = book, adapters, b, f

    @property
    def takers(self) -> list[str]:
        """Operators in which a number is at home."""
        return list(load_table()["takers"]["ops"])

    # --- literals

    def replace_literal(self, rng: Random) -> bool:
        """A literal of some call becomes a number made of sizes, or of data where any number will do."""
        places = [(node, path, value, free) for node in self.f.body for path, value, free in self._literals(node)]
        for _ in range(TRIES):
            if not places:
                return False
            node, path, value, free = rng.choice(places)
            if self._attempt(lambda n=node, p=path, v=value, a=free: self._replace(n, p, v, a, rng)):
                return True
        return False

    def _literals(self, node: fx.Node) -> Iterator[tuple[Path, Any, bool]]:
        """Places of literals in a call: path, value, whether any number of that kind may stand there."""
        rule = self.book.rules.get(str(node.meta["op"]))
        if rule is None or rule.tags & {"number"}:
            return
        for key, value in (*enumerate(node.args), *node.kwargs.items()):
            kinds = _kinds(rule, key)
            if type(value) in (int, float) and kinds & NUMBERS:
                yield (key,), value, True
            elif kinds & SIZES:
                yield from (((key, *path), found, False) for path, found in _sizes(value))

    def _replace(self, node: fx.Node, path: Path, value: Any, free: bool, rng: Random) -> None:
        terms = Terms(self.book, self.f, node, rng)
        if isinstance(value, tuple):
            new = self._shape(terms, value)
        elif free and rng.random() < OF_DATA:
            new = self._of_data(terms, node, type(value))
        elif rng.random() < CHOSEN:
            other: Number = rng.choice([n for n in OTHERS[int] if n != value])
            new = _write(terms, terms.chosen(value, type(value)(other)))
        elif free:
            new = _write(terms, terms.any(floating=isinstance(value, float)))
        else:
            new = _write(terms, terms.equal_to(value))
        self._set(node, path, new)

    def _set(self, node: fx.Node, path: Path, new: Any) -> None:
        args, kwargs = _put((tuple(node.args), dict(node.kwargs)), path, new)
        before = type_of(node)
        self.f.set_call(node, str(node.meta["op"]), args, kwargs, node.meta.get("spelling"))
        if type_of(node) != before:
            raise Rejected("the number decides a type")

    def _shape(self, terms: Terms, shape: tuple[int, ...]) -> Any:
        """The shape of a tensor, which is the one wanted."""
        entry = terms.table["shape"][0]
        alike = [n for n in terms.tensors() if type_of(n).shape == shape]  # type: ignore[union-attr]
        if not alike or entry["op"] not in self.book.rules:
            raise Rejected("no tensor of that shape")
        return terms.add(entry["op"], (terms.rng.choice(alike),))

    def outside(
        self, rng: Random, make: Callable[[int | float], fx.Node]
    ) -> tuple[fx.Node, int | float, list[int | float]]:
        """A literal of some call becomes a node that `make` adds for it, which gives the number from outside the
        function: that node, the literal, and others that it may give in a further call.

        Raises Rejected where no literal can.
        """
        found = [(n, p, v, free) for n in self.f.body for p, v, free in self._literals(n) if type(v) in OTHERS]
        made: list[fx.Node] = []
        for node, path, value, free in rng.sample(found, min(len(found), TRIES)):
            def change(node: fx.Node = node, path: Path = path, value: Any = value) -> None:
                made.append(make(value))
                self._set(node, path, made[-1])

            others = [n for n in OTHERS[type(value)] if free and n != value and self._takes(node, path, n)]
            if self._attempt(change):
                return made[-1], value, others
        raise Rejected("no literal can come from outside")

    def _takes(self, node: fx.Node, path: Path, value: int | float) -> bool:
        """Whether a further call may have this number at a place, where it has another one now: it gives the same type,
        and none of its operands is out of range then, even if the first call wrote inputs."""
        old = node.args, node.kwargs
        args, kwargs = _put((tuple(node.args), dict(node.kwargs)), path, value)
        try:
            if self.f.typed(str(node.meta["op"]), args, kwargs) != type_of(node):
                return False
        except Rejected:
            return False
        node.args, node.kwargs = args, kwargs
        fine = not self.doubts()
        node.args, node.kwargs = old
        return fine

    # --- numbers of data

    def _of_data(self, terms: Terms, user: fx.Node, kind: type) -> fx.Node:
        """A number read from a tensor, of a kind that every operand of the user can hold."""
        kinds = [type_of(n) for n in user.all_input_nodes]
        wide = [k for k in kinds if isinstance(k, TensorType) and k.dtype in ("i64", "f64", "f32", "c64", "c128")]
        if not wide or len(wide) < len(kinds):
            raise Rejected("the number may not fit")
        found = [n for n in terms.tensors() if _readable(n, kind, wide)]
        if not found:
            raise Rejected("no tensor to read")
        return self.read(terms, terms.rng.choice(found))

    def read(self, terms: Terms, node: fx.Node) -> fx.Node:
        """The one element of a tensor, or of what an operator makes one of it."""
        rng, table = terms.rng, terms.table["element"]
        if type_of(node).numel != 1:  # type: ignore[union-attr]
            node = terms.add(rng.choice(terms.known(table["one"])), (node,))
        kind = type_of(node)
        if not isinstance(kind, TensorType) or kind.numel != 1:
            raise Rejected("not one element")
        return terms.add(rng.choice(terms.known(table["read"][kind.info.kind])), (node,))

    # --- conditions and sizes of data

    def assert_something(self, rng: Random) -> bool:
        """Say a condition on sizes that holds."""
        before = rng.choice([*self.f.body, None])

        def change() -> None:
            terms = Terms(self.book, self.f, before, rng)
            op = terms.arithmetic["assert"]
            condition = terms.condition()
            if condition is None or not condition.value or op not in self.book.rules:
                raise Rejected("no condition")
            terms.add(op, (terms.write(condition),))

        return self._attempt(change)

    def unsized(self, rng: Random) -> bool:
        """A value whose size depends on data, used by a few operators, mostly up to one that ends it."""

        def change() -> None:
            terms = Terms(self.book, self.f, None, rng)
            value = self._part(terms) if rng.random() < 0.4 else self._selected(terms)
            for _ in range(rng.choice((0, 0, 1, 1, 2))):
                value = self._follow(terms, value, terms.table["unsized"]["between"])
            if rng.random() < 0.75 or isinstance(type_of(value), TensorType):
                self._follow(terms, value, terms.table["unsized"]["end"])

        return any(self._attempt(change) for _ in range(TRIES))

    def _selected(self, terms: Terms) -> fx.Node:
        """What an operator picks of a tensor by its values."""
        table, rng = terms.table["unsized"], terms.rng
        tensors = terms.tensors()
        masks = [n for n in tensors if type_of(n).dtype == "bool"]  # type: ignore[union-attr]
        choices = [(n,) for n in tensors] + [(n, m) for n in tensors for m in masks]
        ops = terms.known(table["make"])
        for _ in range(TRIES * 2):
            if choices and ops:
                op, args = rng.choice(ops), rng.choice(choices)
                if self.book.check(op, tuple(map(type_of, args)), {}) is None:
                    made = terms.add(op, args)
                    if isinstance(type_of(made), UnsizedType):
                        return made
        raise Rejected("nothing to select from")

    def _part(self, terms: Terms) -> fx.Node:
        """A slice with a bound that is of data."""
        rng, op = terms.rng, terms.table["unsized"]["slice"]
        whole = [n for n in terms.tensors() if type_of(n).info.kind == "int"]  # type: ignore[union-attr]
        sliced = [n for n in terms.tensors() if type_of(n).rank]  # type: ignore[union-attr]
        if not whole or not sliced or op not in self.book.rules:
            raise Rejected("no bound")
        bound: Any = self.read(terms, rng.choice(whole))
        if rng.random() < 0.7:
            bound = terms.add(terms.arithmetic["remainder"], (bound, rng.choice(SMALL)))
        index = slice(None, bound, None) if rng.random() < 0.6 else slice(bound, None, None)
        return terms.add(op, (rng.choice(sliced), index))

    def _follow(self, terms: Terms, value: fx.Node, ops: list[str]) -> fx.Node:
        """A call of one of the operators on a value; the value itself where none takes it."""
        rng, kind = terms.rng, type_of(value)
        for op in rng.sample(known := terms.known(ops), len(known)):
            more = [p for p in self.book.rules[op].params[1:] if not p.optional]
            args: tuple[Any, ...] = (value, *(rng.choice(SMALL) for _ in more))
            if op in terms.table["unsized"]["between"] and more and more[0].name in ("dim", "dims"):
                args = (value, 0 if more[0].name == "dim" else (0,))
            if self.book.check(op, (kind, *args[1:]), {}) is not None:
                continue
            try:
                made = terms.add(op, args)
            except Rejected:
                continue
            first = type_of(made)
            return made if hasattr(first, "dtype") or isinstance(first, ScalarType) else self._first(made)
        return value

    def _first(self, node: fx.Node) -> fx.Node:
        return self.f.op("getitem", (node, 0))

    # --- attempts

    def doubts(self) -> list[Doubt]:
        """The operands of the function that may be out of range."""
        return Knowledge(self.book, self.adapters, self.b, self.f).doubts()

    def _attempt(self, change: Any) -> bool:
        """Whether a change came through; else the function is as it was."""
        nodes = set(self.f.nodes)
        calls = {n: (n.args, n.kwargs, type_of(n)) for n in self.f.body}
        doubts = len(self.doubts())
        try:
            change()
            if len(self.doubts()) > doubts:
                raise Rejected("elements may be out of range")
        except Rejected:
            for node, (args, kwargs, kind) in calls.items():
                node.args, node.kwargs = args, kwargs
                node.meta["type"] = kind
            for node in reversed([n for n in self.f.nodes if n not in nodes]):
                self.f.erase(node)
            return False
        return True


def _kinds(rule: Rule, key: Any) -> frozenset[str]:
    """The kinds of attribute that a parameter takes."""
    if isinstance(key, int):
        param = rule.params[key] if key < len(rule.params) else None
    else:
        param = rule.param.get(key)
    specs = param.specs if param is not None else ()
    return frozenset(s.kind for s in specs if isinstance(s, AttributeSpec))


def _sizes(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Integers from 0 on in an argument, and tuples of such, with their paths."""
    if type(value) is int and value >= 0:
        yield path, value
    elif isinstance(value, tuple | list):
        if len(value) > 1 and all(type(v) is int and v >= 0 for v in value):
            yield path, tuple(value)
        for i, v in enumerate(value):
            yield from _sizes(v, (*path, i))
    elif isinstance(value, slice):
        for name in ("start", "stop"):
            yield from _sizes(getattr(value, name), (*path, name))


def _put(call: tuple[tuple[Any, ...], dict[str, Any]], path: Path, new: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with another value at a place."""
    args, kwargs = call
    key, *rest = path
    if isinstance(key, int):
        return (*args[:key], _within(args[key], rest, new), *args[key + 1 :]), kwargs
    return args, {**kwargs, key: _within(kwargs[key], rest, new)}


def _within(value: Any, path: list[Any], new: Any) -> Any:
    if not path:
        return new
    head, *rest = path
    if isinstance(value, slice):
        parts = {n: getattr(value, n) for n in ("start", "stop", "step")}
        parts[head] = _within(parts[head], rest, new)
        return slice(*parts.values())
    items = [_within(v, rest, new) if i == head else v for i, v in enumerate(value)]
    return tuple(items) if isinstance(value, tuple) else items


def _write(terms: Terms, term: Term | None) -> Any:
    if term is None:
        raise Rejected("no such number")
    found = terms.write(term)
    if not isinstance(found, fx.Node):
        raise Rejected("a literal again")
    return found


def _readable(node: fx.Node, kind: type, users: list[TensorType]) -> bool:
    """Whether the element of a tensor is a number of that kind which tensors of those types can take."""
    read = type_of(node)
    assert isinstance(read, TensorType)
    if read.info.kind == "complex" or (read.info.kind == "float") != (kind is float):
        return False
    narrow = min(DTYPES[u.dtype].bits // (2 if u.info.kind == "complex" else 1) for u in users)
    return read.info.kind != "float" or (read.info.bits <= narrow and all(u.info.kind != "int" for u in users))

