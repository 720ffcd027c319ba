"""Terms: Python numbers that follow from the shapes of a program's tensors, found for a wanted value.

The operators are named in `grammar/numbers.toml`; a term is written into a function as one node for each call.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
import torch.fx as fx

from ..errors import RuleError
from ..grammar.rule import RuleBook
from ..ir.builder import FunctionBuilder
from ..ir.builtins import resolve
from ..ir.program import type_of
from ..ir.types import ScalarType, TensorType
from ..resources import data_dir
from ..toml import read_toml

Number = bool | int | float
# Literals in terms, next to sizes.
CONSTANTS = (1, 2, 3, 4)
# Tensors and dims among which a term is looked for: others would only take time.
LEAVES = 8
# How often an operand of a term is a term again, and how deep that goes.
NESTED = 0.3
DEPTH = 2
LARGE = 10_000


@dataclass(frozen=True)
class Term:
    """A number and how it comes about: a call of `op`, or (`op` empty) the one of `args`: a node or a literal."""

    value: Number
    op: str
    args: tuple[Any, ...]


@functools.cache
def load_table() -> Mapping[str, Any]:
    """The shipped `grammar/numbers.toml`."""
    path = data_dir("grammar") / "numbers.toml"
    found = read_toml(path)
    wanted = {"size", "shape", "arithmetic", "element", "takers", "unsized"}
    if found.keys() != wanted:
        raise RuleError(f"its tables are {sorted(found)}, expected {sorted(wanted)}", where=str(path))
    return found


class Terms:
    """Finds terms at one place of a function: before a node, or at its end. Equal rng states give equal terms."""

    def __init__(
        self, book: RuleBook, f: FunctionBuilder, before: fx.Node | None, rng: Random,
        table: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.book, self.f, self.before, self.rng = book, f, before, rng
        self.table = load_table() if table is None else table
        self.arithmetic = self.table["arithmetic"]
        self.leaves = self._leaves()

    def known(self, ops: Iterable[str]) -> list[str]:
        """Those of the operators that have rules."""
        return [op for op in ops if op in self.book.rules]

    def earlier(self) -> list[fx.Node]:
        """The nodes that are made before the place, oldest first."""
        nodes = self.f.nodes
        return nodes[: nodes.index(self.before)] if self.before is not None else nodes

    def tensors(self) -> list[fx.Node]:
        return [n for n in self.earlier() if isinstance(type_of(n), TensorType)]

    def _leaves(self) -> list[Term]:
        found, weights = [], []
        for node in self.earlier():
            kind = type_of(node)
            if isinstance(kind, ScalarType) and kind.value is not None and kind.kind == "int":
                found.append(Term(kind.value, "", (node,)))
                weights.append(3.0)
            if isinstance(kind, TensorType):
                for entry in self.table["size"]:
                    for term in self._sizes(node, kind, entry):
                        found.append(term)
                        weights.append(entry.get("weight", 1.0))
        # By weight without replacement.
        order = sorted(range(len(found)), key=lambda i: self.rng.random() ** (1 / weights[i]), reverse=True)
        return [found[i] for i in order[:LEAVES]]

    def _sizes(self, node: fx.Node, kind: TensorType, entry: Mapping[str, Any]) -> Iterator[Term]:
        if entry["op"] not in self.book.rules:
            return
        shaped = torch.empty(kind.shape, device="meta")
        dims: Iterable[int] = range(kind.rank) if "$dim" in entry["args"] else (0,)
        for dim in dims:
            given = {"$x": node, "$dim": dim}
            args = tuple(given[a] for a in entry["args"])
            if self.book.check(entry["op"], tuple(kind if a is node else a for a in args), {}) is None:
                value = _value(entry["op"], tuple(shaped if a is node else a for a in args))
                if value is not None and value <= LARGE:
                    yield Term(value, entry["op"], args)

    # --- finding

    def equal_to(self, target: int, depth: int = DEPTH) -> Term | None:
        """A term of that value in which a size is; None where none is found."""
        here = [t for t in self.leaves if t.value == target]
        if here and self.rng.random() < 0.4:
            return self.rng.choice(here)
        found = [*here[:1], *self._made(target)]
        if not found:
            return None
        by_op: dict[str, list[Term]] = {}
        for term in found:
            by_op.setdefault(term.op, []).append(term)
        return self._deeper(self.rng.choice(by_op[self.rng.choice(sorted(by_op))]), depth)

    def any(self, floating: bool = False) -> Term | None:
        """Some number of sizes; with `floating`, a quotient of them."""
        if not self.leaves:
            return None
        if floating:
            ops = self.known(self.arithmetic["fraction"])
            return self._call(self.rng.choice(ops), self.rng.choice(self.leaves), self._other()) if ops else None
        if self.rng.random() < 0.4:
            return self.rng.choice(self.leaves)
        ops = self.known(self.arithmetic["binary"])
        return self._call(self.rng.choice(ops), self.rng.choice(self.leaves), self._other()) if ops else None

    def condition(self) -> Term | None:
        """A comparison of a size with another or with a number near it."""
        ops = self.known(self.arithmetic["compare"])
        if not ops or not self.leaves:
            return None
        first = self.rng.choice(self.leaves)
        near = [Term(n, "", (n,)) for n in (first.value, first.value - 1, first.value + 1, 2)]
        return self._call(self.rng.choice(ops), first, self.rng.choice([*self.leaves, *near]))

    def chosen(self, value: Number, other: Number) -> Term | None:
        """`value` where a condition holds as it does now, else `other`."""
        condition, op = self.condition(), self.arithmetic["choose"]
        if condition is None or op not in self.book.rules:
            return None
        branches = (value, other) if condition.value else (other, value)
        return Term(value, op, (condition, *branches))

    def _other(self) -> Term:
        number = self.rng.choice(CONSTANTS)
        return self.rng.choice([*self.leaves, *[Term(number, "", (number,))] * 3])

    def _made(self, target: int) -> list[Term]:
        """One call that gives the target, of sizes or a size and a literal."""
        found: list[Term] = []
        literals = [Term(n, "", (n,)) for n in CONSTANTS]
        for op in self.known(self.arithmetic["binary"]):
            pairs = [(a, b) for a in self.leaves for b in (*self.leaves, *literals)]
            pairs += [(b, a) for a in self.leaves for b in literals]
            found += [t for a, b in pairs if (t := self._call(op, a, b)) is not None and t.value == target]
        for op in self.known(self.arithmetic["unary"]):
            found += [t for a in self.leaves if (t := self._call(op, a)) is not None and t.value == target]
        for part in self.known(self.arithmetic["fraction"]):
            for whole in self.known(self.arithmetic["whole"]):
                for a, b in ((a, b) for a in self.leaves for b in literals[1:]):
                    inner = self._call(part, a, b)
                    made = None if inner is None else self._call(whole, inner)
                    if made is not None and made.value == target:
                        found.append(made)
        return found

    def _deeper(self, term: Term, depth: int) -> Term:
        """The term with one of its sizes as a term of its own, at times."""
        places = [i for i, a in enumerate(term.args) if isinstance(a, Term) and type(a.value) is int and a.op]
        if not depth or not places or self.rng.random() >= NESTED:
            return term
        at = self.rng.choice(places)
        inner = self.equal_to(term.args[at].value, depth - 1)
        return term if inner is None else Term(term.value, term.op, (*term.args[:at], inner, *term.args[at + 1 :]))

    @staticmethod
    def _call(op: str, *args: Term) -> Term | None:
        value = _value(op, tuple(a.value for a in args))
        return None if value is None else Term(value, op, args)

    # --- writing

    def write(self, term: Term) -> Any:
        """The node (or literal) that is this number, written before the place. Raises Rejected."""
        if not term.op:
            return term.args[0]
        args = tuple(self.write(a) if isinstance(a, Term) else a for a in term.args)
        return self.add(term.op, args)

    def add(self, op: str, args: tuple[Any, ...]) -> fx.Node:
        """A call before the place, in a random spelling. Raises Rejected."""
        node = self.f.op(op, args, before=self.before)
        rule = self.book.rules[op]
        node.meta["spelling"] = self.rng.choice(rule.spellings_for(tuple(map(_type, args)), {}))
        return node


def _value(op: str, args: tuple[Any, ...]) -> Number | None:
    """What a call gives, as far as that is a number of ordinary size; None where it raises."""
    try:
        found = resolve(op)(*args)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return found if isinstance(found, bool | int | float) and abs(found) <= LARGE else None


def _type(value: Any) -> Any:
    return type_of(value) if isinstance(value, fx.Node) else value
