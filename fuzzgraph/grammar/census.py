"""How much of the compiler's language the rules speak: their distinct operators, and what is known beyond them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

from ..errors import FuzzgraphError, RuleError
from ..ir.builtins import is_python, resolve
from ..ir.types import SequenceType, TensorType
from ..ir.values import Values
from ..resources import data_dir
from ..rng import Streams
from ..toml import read_toml
from .check import types_of
from .model import AttributeSpec
from .rule import Rule, RuleBook
from .source import FreshSource

# Dtypes, ranks and attributes choose among kernels; after so many samples of a rule few new ones appear.
SAMPLES = 16
# Where torch has one operator under several names.
HOMES = ("Tensor.", "nn.functional.", "special.")
# Packets of a module of torch's have its name before theirs, with an underscore.
_MODULES = ("fft", "linalg", "special")


class Dispatching(Protocol):
    """What says which overload packets a call on FakeTensors dispatches, backward included."""

    def dispatched(
        self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any], values: Mapping[int, Values] | None = None
    ) -> frozenset[str]: ...


@dataclass(frozen=True)
class Unreached:
    """Operators that the rules leave out on purpose: patterns of names as the shell matches them, and why."""

    reason: str
    operators: tuple[str, ...]

    def holds_for(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.operators)


@dataclass(frozen=True)
class Gaps:
    """Names that no rule reaches and nobody explains. `compiled`: overload packets that Inductor lowers, falls back on
    or decomposes; `sampled`: operators of `op_db`. `explained`: how many each reason covers; `stale`: patterns that
    cover nothing."""

    compiled: tuple[str, ...]
    sampled: tuple[str, ...]
    explained: dict[str, int]
    stale: tuple[str, ...]
    reached: int


def canonical(op: str) -> str:
    """One name for an operator, its in-place variant, and the homes that it is found in."""
    name = next((op.removeprefix(home) for home in HOMES if op.startswith(home)), op)
    return name if name.endswith("__") or not name.strip("_") else name.rstrip("_")


def dotted(packet: str) -> str:
    """The public name of an overload packet: without its namespace, with torch's module where it has one."""
    name = packet.partition(".")[2]
    module, _, rest = name.partition("_")
    return f"{module}.{rest}" if module in _MODULES and rest else name


def distinct(book: RuleBook, sampled: Mapping[str, list[str]]) -> frozenset[str]:
    """The distinct operators of torch's that have rules: in-place variants and aliases (as `op_db` names them) count
    once, functions of Python's own not at all."""
    own = {canonical(name) for name in sampled}
    first = {canonical(alias): canonical(name) for name, aliases in sampled.items() for alias in aliases}
    names = (canonical(op) for op in book.rules if not is_python(op))
    return frozenset(name if name in own else first.get(name, name) for name in names)


def gaps(book: RuleBook, infer: Dispatching, catalog: Mapping[str, Any], unreached: tuple[Unreached, ...]) -> Gaps:
    """What the compiler and torch's own samples know and no rule reaches, by name or by what its calls dispatch."""
    sampled: dict[str, list[str]] = dict(catalog["sampled"])
    known = distinct(book, sampled)
    packets = {name for rule in book.rules.values() for name in dispatched(rule, infer)}
    compiled = {p for kind in ("lowered", "fallback", "decomposed") for p in catalog[kind]}
    missing = sorted(p for p in compiled - packets if canonical(dotted(p)) not in known)
    names = sorted(name for name in sampled if canonical(name) not in known)
    explained = {u.reason: sum(map(u.holds_for, [*missing, *names])) for u in unreached}
    stale = [p for u in unreached for p in u.operators if not any(fnmatchcase(n, p) for n in [*missing, *names])]

    def left(found: list[str]) -> tuple[str, ...]:
        return tuple(name for name in found if not any(u.holds_for(name) for u in unreached))

    return Gaps(left(missing), left(names), explained, tuple(stale), len(compiled) - len(missing))


def dispatched(rule: Rule, infer: Dispatching) -> Iterator[str]:
    """Overload packets that samples of a rule dispatch, every second one under grad."""
    try:
        resolve(rule.op)
    except FuzzgraphError:  # this torch lacks it
        return
    # Among many modes each takes more samples to be seen.
    modes = max((len(s.values) for p in rule.params for s in p.specs if isinstance(s, AttributeSpec)), default=0)
    for index in range(SAMPLES if modes < 4 else 4 * SAMPLES):
        draft = rule.sample(FreshSource(), Streams(0).stream("grammar gaps", rule.op, index))
        if draft is not None:
            args, kwargs, values = types_of(draft)
            if index % 2:
                args, kwargs = _with_grad(args), _with_grad(kwargs)
            yield from infer.dispatched(rule.op, args, kwargs, values)


def _with_grad(value: Any) -> Any:
    """The operands under grad, where their dtype can be."""
    if isinstance(value, TensorType):
        return value.with_(requires_grad=value.info.kind in ("float", "complex"))
    if isinstance(value, SequenceType):
        return replace(value, items=tuple(map(_with_grad, value.items)))
    if isinstance(value, dict):
        return {k: v if k == "out" else _with_grad(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(map(_with_grad, value))
    return value


def read_unreached(path: Path | None = None) -> tuple[Unreached, ...]:
    """The shipped `grammar/unreached.toml`, or another such file. Raises UsageError and RuleError."""
    path = path or data_dir("grammar") / "unreached.toml"
    entries = read_toml(path).get("unreached", [])
    found = []
    for entry in entries:
        if set(entry) != {"reason", "operators"} or not all(isinstance(name, str) for name in entry["operators"]):
            raise RuleError("each [[unreached]] has a reason and a list of operators", where=str(path))
        found.append(Unreached(str(entry["reason"]), tuple(entry["operators"])))
    return tuple(found)


def gap_lines(found: Gaps) -> list[str]:
    """For people: what is missing, then the totals."""
    lines = [f"compiled, no rule: {name}" for name in found.compiled]
    lines += [f"op_db, no rule: {name}" for name in found.sampled]
    lines += [f"left out ({count}): {reason}" for reason, count in found.explained.items()]
    lines += [f"stale in unreached.toml: {pattern}" for pattern in found.stale]
    lines.append(
        f"{found.reached} of the compiler's operators are reached, {len(found.compiled)} and {len(found.sampled)} of "
        f"op_db are not, {sum(found.explained.values())} are left out for a reason"
    )
    return lines
