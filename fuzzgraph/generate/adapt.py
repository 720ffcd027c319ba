"""Adapters: which operators make a value fit, and what their results are known to hold.

The operators are named in `grammar/adapters.toml`; here are only the purposes they serve.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import torch.fx as fx

from ..errors import RuleError
from ..grammar.rule import RuleBook
from ..ir.builder import FunctionBuilder, Rejected
from ..ir.program import rooted_types_in, type_of
from ..ir.types import ScalarType, SequenceType
from ..resources import data_dir

PURPOSES = (
    "cast", "expand", "reshape", "narrow", "copy", "index", "between", "nonzero", "sorted", "unique", "constant",
)  # fmt: skip


@dataclass(frozen=True)
class Adapter:
    """A call with places: strings `$name` in `args` and `kwargs`. `item`: which item of the result it means."""

    op: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    item: int | None = None

    def fill(self, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return tuple(_filled(a, values) for a in self.args), {k: _filled(v, values) for k, v in self.kwargs.items()}

    def read(self, node: fx.Node) -> dict[str, Any] | None:
        """What stands in the places of a node that is such a call; None for another call, and for one whose result
        is not known from its text: a tensor as a bound, a bound left out."""
        if node.meta.get("op") != self.op or len(node.args) != len(self.args):
            return None
        if node.kwargs.keys() != self.kwargs.keys():
            return None
        found: dict[str, Any] = {}
        pairs = [*zip(self.args, node.args, strict=True), *((v, node.kwargs[k]) for k, v in self.kwargs.items())]
        for place, value in pairs:
            if place == "$x":
                found["x"] = value
            elif (value := _number(value)) is None:
                return None
            elif isinstance(place, str) and place.startswith("$"):
                found[place[1:]] = value
            elif place != value:
                return None
        return found


def _number(value: Any) -> Any:
    """An argument as a number; None for a node whose value does not follow from types, and for one left out."""
    if isinstance(value, fx.Node):
        kind = type_of(value)
        return kind.value if isinstance(kind, ScalarType) else None
    return value


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    return values[value[1:]] if isinstance(value, str) and value.startswith("$") else value


class Adapters:
    """The adapters whose operators a rule book has."""

    def __init__(self, book: RuleBook, table: Mapping[str, list[Adapter]] | None = None) -> None:
        self.book = book
        known = _load() if table is None else table
        self.table = {p: [a for a in known.get(p, ()) if a.op in book.rules] for p in PURPOSES}

    def apply(
        self, purpose: str, f: FunctionBuilder, rng: Random, before: fx.Node | None = None, **values: Any
    ) -> fx.Node | None:
        """Add a call that serves a purpose; None where no adapter is accepted. Places left out are `values`."""
        choices = list(self.table[purpose])
        rng.shuffle(choices)
        for adapter in choices:
            args, kwargs = adapter.fill(values)
            try:
                spelling = self.spelling(adapter.op, args, kwargs, rng)
                node = f.op(adapter.op, args, kwargs, spelling=spelling, before=before)
                if adapter.item is not None:
                    node = f.op("getitem", (node, adapter.item), before=before)
            except Rejected:
                continue
            if not isinstance(node.meta["type"], SequenceType):
                return node
        return None

    def spelling(self, op: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], rng: Random) -> str | None:
        """One of the spellings in which this call can be written."""
        rule = self.book.rules.get(op)
        names = rule.spellings_for(rooted_types_in(args), rooted_types_in(dict(kwargs))) if rule is not None else []
        return rng.choice(names) if names else None

    def served(self, node: fx.Node, purpose: str) -> dict[str, Any] | None:
        """What stands in the places if a node is the result of an adapter of that purpose."""
        for adapter in self.table[purpose]:
            call = node
            if adapter.item is not None:
                if node.meta.get("op") != "getitem" or node.args[1] != adapter.item:
                    continue
                call = node.args[0]  # type: ignore[assignment]
            found = adapter.read(call)
            if found is not None:
                return found
        return None


@functools.cache
def _load() -> Mapping[str, list[Adapter]]:
    path = data_dir("grammar") / "adapters.toml"
    with path.open("rb") as file:
        try:
            data = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise RuleError(str(error), where=str(path)) from None
    unknown = data.keys() - set(PURPOSES)
    if unknown:
        raise RuleError(f"unknown purpose {min(unknown)!r}", where=str(path), hint=f"known: {', '.join(PURPOSES)}")
    return {
        purpose: [Adapter(e["op"], tuple(e["args"]), e.get("kwargs", {}), e.get("item")) for e in entries]
        for purpose, entries in data.items()
    }
