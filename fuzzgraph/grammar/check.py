"""Holding every rule against FakeTensor and eager: does torch do what the rule says?

Each rule is sampled; each sample runs on FakeTensor and in eager. They must agree with the rule and with each other:
acceptance, dtype, shape, strides, and which operand a result shares its storage with. What torch itself disagrees
about is written beside the rule (`upstream`), and only that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from ..errors import FuzzgraphError
from ..ir.builtins import resolve
from ..ir.infer import Inferred
from ..ir.types import SequenceType, TensorType, UnsizedType
from ..ir.values import Values
from ..rng import Streams
from . import matching
from .model import Draft
from .rule import Rule, RuleBook
from .source import Fresh, FreshSource
from .spelling import by_keyword


class CheckInference(Protocol):
    """What runs one call: on FakeTensor, or in eager with tensors of these values (by flat operand index)."""

    def infer(
        self,
        op: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        mode: str = "fake",
        values: Mapping[int, Values] | None = None,
    ) -> Inferred: ...


@dataclass(frozen=True)
class Disagreement:
    """`aspect`: sample, check, eager, fake, dtype, shape, stride or alias. `call` is the first sample with it."""

    op: str
    aspect: str
    message: str
    call: str
    count: int = 1
    upstream: str | None = None


@dataclass
class CheckReport:
    """What a check saw: unexplained disagreements, those that the rule files explain, rules left out and why."""

    rules: int = 0
    samples: int = 0
    declined: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)
    explained: list[Disagreement] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.disagreements


def check_rules(
    book: RuleBook, infer: CheckInference, names: Iterable[str] | None = None, samples: int = 50, seed: int = 0
) -> list[Disagreement]:
    """The unexplained disagreements of the named rules (default: all). Deterministic in the seed."""
    return check_report(book, infer, names, samples, seed).disagreements


def check_report(
    book: RuleBook, infer: CheckInference, names: Iterable[str] | None = None, samples: int = 50, seed: int = 0
) -> CheckReport:
    """As `check_rules`, with all that there is to tell."""
    report = CheckReport()
    for op in book.rules if names is None else names:
        rule = book.rules[op]
        try:
            resolve(op)
        except FuzzgraphError:
            report.skipped[op] = f"this torch has no torch.{op}"
            continue
        report.rules += 1
        _check_rule(rule, infer, samples, Streams(seed), report)
    return report


def report_lines(report: CheckReport) -> list[str]:
    """The report for people: one line a disagreement, then the totals."""
    lines = [f"{d.op}: {d.aspect}: {d.message} [{d.count}x, {d.call}]" for d in report.disagreements]
    lines += [f"{d.op}: upstream, {d.aspect}: {d.upstream} [{d.count}x]" for d in report.explained]
    lines += [f"{op}: skipped: {reason}" for op, reason in report.skipped.items()]
    lines.append(
        f"{report.rules} rules, {report.samples} samples, {report.declined} draws declined, "
        f"{len(report.disagreements)} disagreements, {len(report.explained)} explained, {len(report.skipped)} skipped"
    )
    return lines


def _check_rule(rule: Rule, infer: CheckInference, samples: int, streams: Streams, report: CheckReport) -> None:
    found: dict[tuple[str, str, str | None], Disagreement] = {}
    source = FreshSource()
    drawn = 0
    for index in range(samples):
        rng: Random = streams.stream("grammar check", rule.op, index)
        draft = rule.sample(source, rng)
        if draft is None:
            report.declined += 1
            continue
        drawn += 1
        for aspect, message in _compare(rule, infer, draft):
            reason = _explained(rule, aspect, draft)
            seen = found.get((aspect, message, reason))
            count = 1 if seen is None else seen.count + 1
            call = describe(draft) if seen is None else seen.call
            found[aspect, message, reason] = Disagreement(rule.op, aspect, message, call, count, reason)
    if not drawn:
        found["sample", "", None] = Disagreement(rule.op, "sample", "no sample fits the rule", rule.where)
    report.samples += drawn
    report.disagreements += [d for d in found.values() if d.upstream is None]
    report.explained += [d for d in found.values() if d.upstream is not None]


def _explained(rule: Rule, aspect: str, draft: Draft) -> str | None:
    """What the rule file says about a disagreement of this kind in this call."""
    args, kwargs, _ = types_of(draft)
    env = matching.match(rule, args, kwargs)
    for known in rule.upstream:
        if aspect in known.aspects and (known.condition is None or (not isinstance(env, str) and known.condition(env))):
            return known.reason
    return None


def types_of(draft: Draft) -> tuple[tuple[Any, ...], dict[str, Any], dict[int, Values]]:
    """A draft of FreshSource as types, and the values of its operands by flat index."""
    values: dict[int, Values] = {}

    def swap(item: Any) -> Any:
        if isinstance(item, Fresh):
            values[len(values)] = item.values
            return item.type
        if isinstance(item, (list, tuple)):
            return type(item)(map(swap, item))
        return item

    args = tuple(map(swap, draft.args))
    return args, {k: swap(v) for k, v in draft.kwargs.items()}, values


def _compare(rule: Rule, infer: CheckInference, draft: Draft) -> Iterator[tuple[str, str]]:
    args, kwargs, values = types_of(draft)
    if (reason := rule.check(args, kwargs)) is not None:
        yield "check", f"check refuses a sample of its own: {reason}"
        return
    declared = rule.results(args, kwargs)
    given, named = by_keyword(rule, args, kwargs) if draft.spelling == "keywords" else (args, kwargs)
    eager = infer.infer(rule.op, given, named, mode="eager", values=values)
    fake = infer.infer(rule.op, given, named)
    if eager.error is not None:
        yield "eager", f"eager raises {eager.error}"
        return
    yield from _against_eager(rule, declared, eager, args, kwargs)
    if fake.error is not None:
        yield "fake", f"FakeTensor raises {fake.error}"
        return
    yield from _fake_against_eager(fake, eager)


def _against_eager(
    rule: Rule,
    declared: list[tuple[str, tuple[int, ...]]] | None,
    eager: Inferred,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Iterator[tuple[str, str]]:
    real = tensors_in(eager.type)
    if declared is not None:
        if len(declared) != len(real):
            yield "shape", f"the rule declares {len(declared)} results, eager gives {len(real)}"
            return
        for (dtype, shape), item in zip(declared, real, strict=True):
            if dtype != item.dtype:
                yield "dtype", f"the rule declares {dtype}, eager gives {item.dtype}"
            if shape != item.shape:
                yield "shape", "the rule declares another shape than eager gives"
    shared = alias_operands(rule, args, kwargs) or [None]
    maybe = rule.alias is not None and rule.alias.maybe
    # A list that results share storage with gives one tensor to each.
    each = shared if len(shared) == len(real) else [shared[0]] * len(real)
    for item, alias, wanted in zip(real, eager.alias_of, each, strict=True):
        if alias != wanted and item.numel and not (maybe and alias is None):
            yield "alias", f"the rule says operand {wanted}, eager shares storage with operand {alias}"


def alias_operands(rule: Rule, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[int | None]:
    """Flat indices of the tensor operands whose storage the results share, as the rule says: one, or those of a list
    with one for each result. Empty for none."""
    if kwargs.get("out") is not None:
        name = "out"
    elif rule.alias is not None:
        name = rule.alias.operand
    else:
        return []
    at = 0
    for key, value in (*zip((p.name for p in rule.params), args, strict=False), *kwargs.items()):
        count = len(tensors_in(matching.normal(value)))
        if key == name:
            return list(range(at, at + count))
        at += count
    return []


def _fake_against_eager(fake: Inferred, eager: Inferred) -> Iterator[tuple[str, str]]:
    ours, real = list(_any_tensors(fake.type)), tensors_in(eager.type)
    if len(ours) != len(real):
        yield "shape", f"FakeTensor gives {len(ours)} results, eager {len(real)}"
        return
    for a, b in zip(ours, real, strict=True):
        if a.dtype != b.dtype:
            yield "dtype", f"FakeTensor gives {a.dtype}, eager {b.dtype}"
        if a.rank != b.rank or any(n not in (None, m) for n, m in zip(a.shape, b.shape, strict=True)):
            yield "shape", "FakeTensor gives another shape than eager"
        elif isinstance(a, TensorType) and strides_that_matter(a) != strides_that_matter(b):
            yield "stride", "FakeTensor gives other strides than eager"
    # An empty tensor shares nothing that a program could see.
    full = [i for i, t in enumerate(real) if t.numel]
    if [fake.alias_of[i] for i in full] != [eager.alias_of[i] for i in full]:
        yield "alias", "FakeTensor shares storage with another operand than eager"


def strides_that_matter(found: TensorType) -> tuple[int, ...]:
    """Strides of dims with more than one element; none of an empty tensor."""
    return tuple(s for s, n in zip(found.stride, found.shape, strict=True) if n > 1) if found.numel else ()


def tensors_in(found: Any) -> list[TensorType]:
    """The tensors of known sizes in a type, in order."""
    return [t for t in _any_tensors(found) if isinstance(t, TensorType)]


def _any_tensors(found: Any) -> Iterator[TensorType | UnsizedType]:
    if isinstance(found, TensorType | UnsizedType):
        yield found
        return
    items = found.items if isinstance(found, SequenceType) else found if isinstance(found, (tuple, list)) else ()
    for item in items:
        yield from _any_tensors(item)


def describe(draft: Draft) -> str:
    """A call on one line, operands by dtype, shape, and strides where they are not contiguous."""

    def show(item: Any) -> str:
        if isinstance(item, Fresh):
            kind = item.type
            layout = "" if kind.is_contiguous else f" strides {list(kind.stride)}"
            return f"{kind.dtype}{list(kind.shape)}{layout} {item.values.kind}{item.values.params or ''}"
        if isinstance(item, (list, tuple)):
            return "[" + ", ".join(map(show, item)) + "]"
        return repr(item)

    parts = [*map(show, draft.args), *(f"{k}={show(v)}" for k, v in draft.kwargs.items())]
    return f"{draft.op}({', '.join(parts)})"
