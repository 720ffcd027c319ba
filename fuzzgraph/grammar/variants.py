"""From what a rule's clauses say to `Rule`s: each operator that it names, and the in-place variant of each.

Declared results become preconditions here: the result has a dtype of ours, fits out=, fits the operand that the
in-place variant writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import RuleError
from ..ir.types import DTYPES, TensorType
from . import matching
from .dtypes import CLASSES, DTypes, writable
from .expressions import compile_expression
from .model import (
    MISSING,
    Alias,
    Checker,
    Condition,
    Env,
    Expr,
    InnerDomains,
    Param,
    ResultItem,
    Sampler,
    TensorSpec,
    Upstream,
)
from .rule import Rule
from .spelling import STANDARD, STATEMENTS


@dataclass
class RuleDraft:
    """What the clauses of one rule say. `out` is "cast", "exact" or None; `inplace` a name ("": the usual one) and
    the operator of the augmented assignment ("": none)."""

    signature: list[tuple[str, bool]]
    params: dict[str, Param] = field(default_factory=dict)
    variables: dict[str, DTypes] = field(default_factory=dict)
    shapes: set[str] = field(default_factory=set)
    conditions: list[Condition] = field(default_factory=list)
    result: tuple[ResultItem, ...] | None = None
    alias: Alias | None = None
    inplace: tuple[str, str] | None = None
    out: str | None = None
    spellings: dict[str, str] = field(default_factory=dict)
    weight: float = 1.0
    tags: set[str] = field(default_factory=set)
    sampler: Sampler | None = None
    checker: Checker | None = None
    inner_domains: InnerDomains | None = None
    upstream: list[Upstream] = field(default_factory=list)
    needs: list[tuple[str, Any]] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)

    @property
    def names(self) -> set[str]:
        """All variables that the rule's expressions may read."""
        return {*self.params, *self.variables, *self.shapes, "writing"}


def rules_of(draft: RuleDraft, op: str, family: str, where: str) -> Iterator[Rule]:
    """The rule of one operator and that of its in-place variant. Raises RuleError."""
    if draft.result is None and (draft.inplace is not None or draft.out is not None):
        raise RuleError(f"{op}: in-place and out= variants need a result clause", where)
    params = tuple(draft.params[name] for name, _ in draft.signature)
    conditions = list(draft.conditions)
    if draft.result is not None:
        conditions.append(_has_result(draft))
    base = Rule(
        op=op,
        family=family,
        where=where,
        params=params,
        order=tuple(draft.params),
        conditions=tuple(conditions),
        result=draft.result,
        result_tuple=draft.result is not None and len(draft.result) > 1,
        alias=draft.alias,
        tags=frozenset(draft.tags),
        weight=draft.weight,
        spellings=_spellings(draft.spellings, "method" if op.startswith("Tensor.") else "function"),
        sampler=draft.sampler,
        checker=draft.checker,
        inner_domains=draft.inner_domains,
        upstream=tuple(draft.upstream),
        needs=tuple(draft.needs),
        functions=frozenset(draft.functions),
    )
    if draft.inplace is None:
        yield _with_out(base, draft)
        return
    inplace_op = draft.inplace[0] or f"Tensor.{op.rpartition('.')[2]}_"
    yield replace(_with_out(base, draft), inplace_op=inplace_op)
    yield _inplace(base, draft, inplace_op)


def _has_result(draft: RuleDraft) -> Condition:
    """The declared result has one of our dtypes, and a shape."""
    items = draft.result or ()
    names = frozenset(name for i in items for name in i.dtype.names | i.shape.names) & draft.names
    holds = Expr("result", lambda env: all(i.dtype(env) in DTYPES and i.shape(env) is not None for i in items))
    return Condition(holds, "the result has no dtype that programs know", names)


def _with_out(base: Rule, draft: RuleDraft) -> Rule:
    """The rule with a parameter `out`, where the draft has that variant."""
    if draft.out is None:
        return base
    if base.result is None or base.result_tuple:
        raise RuleError(f"{base.op}: an out= variant has one result", base.where)
    item = base.result[0]
    exact = draft.out == "exact"
    pointwise = any(isinstance(s, TensorSpec) and s.broadcast for p in base.params for s in p.specs)
    spec = TensorSpec(None, CLASSES["any"], None, broadcast=pointwise, written=True)

    def holds(env: Env) -> bool:
        out = env["out"]
        if out is None:
            return True
        # Overloads with a number in the first place seldom have out=.
        if base.params[0].tensor and not isinstance(env[base.params[0].name], (TensorType, tuple)):
            return False
        dtype, shape = str(item.dtype(env)), tuple(item.shape(env))
        return (dtype == out.dtype or (not exact and writable(dtype, out.dtype))) and shape == out.shape

    fits = Condition(Expr("out", holds), "the result does not fit out=", frozenset({"out", *draft.params}))
    return replace(
        base,
        params=(*base.params, Param("out", (spec,), None, True, True)),
        order=(*base.order, "out"),
        conditions=(*base.conditions, fits),
        out_exact=exact,
    )


def _inplace(base: Rule, draft: RuleDraft, op: str) -> Rule:
    """The rule of the in-place variant: the first parameter is a tensor that admits the result."""
    assert draft.inplace is not None and base.result is not None
    item = base.result[0]
    first = base.params[0]
    name = first.name

    def holds(env: Env) -> bool:
        return matching.inplace_fits(str(item.dtype(env)), tuple(item.shape(env)), env[name])

    names = frozenset((item.dtype.names | item.shape.names) & draft.names | {name})
    fits = Condition(Expr("in place", holds), f"the result does not fit {name}", names)
    specs = tuple(replace(s, written=True) for s in first.specs if isinstance(s, TensorSpec))
    spellings = {k: v for k, v in draft.spellings.items() if k in STANDARD or k == "nokeywords"}
    if draft.inplace[1]:
        spellings["augmented"] = "{0} " + draft.inplace[1] + " {1}"
    target = [compile_expression(f"{name}.{field}", base.where) for field in ("dtype", "shape")]
    return replace(
        base,
        op=op,
        params=(replace(first, specs=specs, default=MISSING), *base.params[1:]),
        conditions=(*base.conditions, fits),
        result=(ResultItem(*target),),
        result_tuple=False,
        alias=Alias(name),
        tags=base.tags | {"inplace"},
        spellings=_spellings(spellings, "method"),
        functional=base.op,
    )


def _spellings(given: dict[str, str], first: str) -> dict[str, str]:
    """The spellings of a rule: the plain one first, keywords unless the rule says they do not work."""
    names = {first: ""} | {k: v for k, v in given.items() if k != "nokeywords"}
    if "nokeywords" not in given and not STATEMENTS & (given.keys() - {"augmented"}):
        names["keywords"] = ""
    return names
