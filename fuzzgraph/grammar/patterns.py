"""The compiler's patterns, and which rule stands for each of their operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import RuleError
from ..ir.types import TensorType
from ..ir.wire import unpack_type, unpack_value
from ..resources import data_dir
from ..toml import read_toml
from .census import HOMES, canonical, dotted
from .rule import Rule, RuleBook

GETITEM = "operator.getitem"


@dataclass(frozen=True)
class Wild:
    """An argument that may be anything; all of one name (but "") are the same."""

    name: str = ""


@dataclass(frozen=True)
class Made:
    """The result of another node of the pattern."""

    node: int


@dataclass(frozen=True)
class Each:
    """A list of one or more results that all match the same."""

    item: Any


@dataclass(frozen=True)
class PatternNode:
    """A call, or an input of a known type. `ops` are alternatives, in the compiler's names. `args` None: any. In `args`
    and `kwargs` are Wild, Made, Each, lists of such, and literals. `users`: how many, None for any number."""

    ops: tuple[str, ...] = ()
    args: tuple[Any, ...] | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    users: int | None = None
    type: TensorType | None = None


@dataclass(frozen=True)
class Pattern:
    """What a pass of the compiler looks for. Nodes come after those that they use; `outputs` are what it replaces;
    `needs` are the config patches without which the pass is off."""

    name: str
    where: str
    nodes: tuple[PatternNode, ...]
    outputs: tuple[int, ...]
    needs: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        calls = [node.ops[0].rpartition(".")[2] for node in self.nodes if node.ops]
        shown = calls if len(calls) <= 6 else [*calls[:3], "...", *calls[-2:]]
        return f"{self.where} {self.name or ' '.join(shown)}"


def read_patterns(data: Sequence[Mapping[str, Any]]) -> tuple[Pattern, ...]:
    """Patterns as `harness.patterns` writes them."""
    return tuple(
        Pattern(p["name"], p["where"], tuple(map(_node, p["nodes"])), tuple(p["outputs"]), tuple(p["needs"].items()))
        for p in data
    )  # fmt: skip


def _node(data: Mapping[str, Any]) -> PatternNode:
    if "type" in data:
        kind = unpack_type(data["type"])
        assert isinstance(kind, TensorType)
        return PatternNode(type=kind)
    args = None if data["args"] is None else tuple(map(_argument, data["args"]))
    kwargs = {k: _argument(v) for k, v in data["kwargs"].items()}
    return PatternNode(tuple(data["ops"]), args, kwargs, data["users"])


def _argument(data: Mapping[str, Any]) -> Any:
    ((kind, value),) = data.items()
    if kind == "list":
        return [_argument(v) for v in value]
    if kind == "each":
        return Each(_argument(value))
    if kind == "literal":
        return unpack_value(value)
    return Made(value) if kind == "node" else Wild(value)


class PatternBook:
    """The patterns of the installed torch, asked for when they are first needed.

    `ask` gives them as `harness.patterns` writes them; what it raises is raised once, and then there are none.
    """

    def __init__(self, ask: Callable[[], Sequence[Mapping[str, Any]]] = tuple) -> None:
        self._ask = ask
        self._found: tuple[Pattern, ...] | None = None

    @property
    def all(self) -> tuple[Pattern, ...]:
        if self._found is None:
            self._found = ()
            self._found = read_patterns(self._ask())
        return self._found


@dataclass(frozen=True)
class Counterpart:
    """The rule for an operator of a pattern; `take`: how many of its arguments are the rule's (None: all)."""

    rule: Rule
    take: int | None = None


def counterpart(name: str, book: RuleBook) -> Counterpart | None:
    """The rule for an operator as patterns name it, None where there is none."""
    entry = _table().get(name)
    if entry is not None:
        rule = book.rules.get(entry["op"])
        return None if rule is None else Counterpart(rule, entry.get("take"))
    plain = name.removeprefix("torch.").removeprefix("functional.")
    if name.startswith(("aten.", "prims.")):
        plain = dotted(name)
    for candidate in (plain, canonical(plain), *(home + canonical(plain) for home in HOMES)):
        if candidate in book.rules:
            return Counterpart(book.rules[candidate])
    return None


def lacking(pattern: Pattern, book: RuleBook) -> list[str]:
    """The operators of a pattern for which no rule stands; empty where each node has one."""
    found = []
    for node in pattern.nodes:
        if node.ops and not any(op == GETITEM or counterpart(op, book) for op in node.ops):
            found.append(node.ops[0])
    return list(dict.fromkeys(found))


@functools.cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    path = data_dir("grammar") / "patterns.toml"
    entries = read_toml(path).get("operator", [])
    for entry in entries:
        if not {"name", "op"} <= set(entry) <= {"name", "op", "take"}:
            raise RuleError("each [[operator]] has a name, an op, and perhaps take", where=str(path))
    return {entry["name"]: entry for entry in entries}
