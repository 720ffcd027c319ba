"""`Rule`: all that is known of one operator, and `RuleBook`: all rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ..ir.types import UnsizedType
from . import matching, sampling
from .model import (
    Alias,
    AttributeSpec,
    Checker,
    Condition,
    Draft,
    InnerDomains,
    OperandSource,
    Param,
    ResultItem,
    Sampler,
    TensorSpec,
    Upstream,
)
from .spelling import applicable
from .unsized import is_unsized, stand_ins
from .wants import ValueDomain


def calls(param: Param) -> bool:
    """Whether a parameter is a function, which the operator calls."""
    return any(isinstance(s, AttributeSpec) and s.kind == "function" for s in param.specs)


def _identity(operand: Any) -> Any:
    return operand


@dataclass(frozen=True, eq=False)
class Rule:
    """One operator: `op` is its dotted name relative to torch, `family` the rule file's stem.

    `params` are in the order of the signature, `order` in the order in which they are drawn. `spellings` maps a
    name to its template ("" for the spellings that need none, see `spelling`). `inplace_op` names the in-place
    rule of a functional one, `functional` the other way round. `where` is the rule's file and line.
    """

    op: str
    family: str
    where: str
    params: tuple[Param, ...]
    order: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    result: tuple[ResultItem, ...] | None = None
    # Whether the result is a Python tuple of tensors.
    result_tuple: bool = False
    alias: Alias | None = None
    tags: frozenset[str] = frozenset()
    weight: float = 1.0
    spellings: Mapping[str, str] = field(default_factory=dict)
    inplace_op: str | None = None
    functional: str | None = None
    # out= takes only exactly the result's dtype, not all that it can be cast to.
    out_exact: bool = False
    sampler: Sampler | None = None
    checker: Checker | None = None
    inner_domains: InnerDomains | None = None
    upstream: tuple[Upstream, ...] = ()
    # Settings without which the compiler refuses the operator, as torch documents it.
    needs: tuple[tuple[str, Any], ...] = ()
    # The operators that may be in functions which this one calls; empty: any.
    functions: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Rule({self.op!r}, {self.where})"

    @functools.cached_property
    def param(self) -> dict[str, Param]:
        return {p.name: p for p in self.params}

    def sample(self, source: OperandSource, rng: Random) -> Draft | None:
        """A call that `check` accepts, with operands of `source`; None where the rule does not apply.

        Equal (source, rng state) give equal drafts.
        """
        return sampling.sample(self, source, rng)

    def check(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """Why eager would reject these arguments, with types in place of operands; None where it accepts them.

        Operands that share storage are told by equal `TensorType.alias`: give a root value its own name there, or
        two roots count as distinct.
        """
        calls = stand_ins(args, kwargs)
        for known_args, known_kwargs in calls:
            found = matching.match(self, known_args, known_kwargs)
            if isinstance(found, str):
                return found
        return self._unsized_written(args, kwargs) if len(calls) > 1 else None

    def _unsized_written(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """Memory of a tensor whose strides are not known is not written."""
        bound = matching.bind(self, args, kwargs)
        for param in self.params:
            if self.writes(param) and isinstance(bound, dict) and isinstance(bound.get(param.name), UnsizedType):
                return f"{param.name} is written, and its sizes depend on data"
        return None

    def results(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[tuple[str, tuple[int, ...]]] | None:
        """Declared dtype and shape of each result tensor; None where the rule leaves them to inference.

        For arguments that `check` accepts. None too where sizes depend on data.
        """
        env = "" if is_unsized((args, kwargs)) else matching.match(self, args, kwargs)
        return None if self.result is None or isinstance(env, str) else matching.results(self, env)

    def domains(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[int, ValueDomain]:
        """What elements must be, by the flat index of the tensor operand (args in order, then kwargs in order).

        For arguments that `check` accepts. Of operands whose sizes depend on data, what is needed without elements.
        """
        args, kwargs = stand_ins(args, kwargs)[0]
        env = matching.match(self, args, kwargs)
        return {} if isinstance(env, str) else matching.domains(self, args, kwargs, env)

    def written(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[int | str]:
        """Which arguments the call writes: positions in args, keys of kwargs."""
        bound = matching.bind(self, args, kwargs)
        names = [] if isinstance(bound, str) else [p.name for p in self.params if self.writes(p) and p.name in bound]
        at: dict[str, int | str] = {p.name: i for i, p in enumerate(self.params) if i < len(args)}
        return [at.get(name, name) for name in names if bound[name] is not None]  # type: ignore[index]

    def takes(self, dtype: str) -> bool:
        """Whether a tensor of this dtype can be the first required tensor operand; True for rules without one."""
        specs = next((p.specs for p in self.params if p.tensor and not p.optional), ())
        return not specs or any(isinstance(s, TensorSpec) and dtype in s.dtypes for s in specs)

    @staticmethod
    def writes(param: Param) -> bool:
        return any(isinstance(s, TensorSpec) and s.written for s in param.specs)

    def resample_attribute(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        rng: Random,
        type_of: Callable[[Any], Any] = _identity,
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The same call with another value of one non-tensor argument, accepted by `check`; None if there is none.

        Operands stay the same objects; `type_of` tells their types (and returns other arguments as they are).
        """
        return sampling.resample_attribute(self, args, kwargs, rng, type_of)

    def spellings_for(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[str]:
        """The spellings in which this call can be written; arguments as for `check`."""
        return [name for name in self.spellings if applicable(self, name, args, kwargs)]

    @property
    def signature_class(self) -> tuple[Any, ...]:
        """Rules of equal class take the same kinds of required operands and attributes and give as many results."""
        kinds = []
        for param in self.params:
            if not param.optional:
                first = param.specs[0]
                lists = isinstance(first, TensorSpec) and first.count is not None
                kinds.append("tensors" if lists else "tensor" if param.tensor else getattr(first, "kind", ""))
        count = len(self.result) if self.result is not None and self.result_tuple else 1
        return (*kinds, "inplace" in self.tags, "number" in self.tags, count)


class RuleBook:
    """All rules, by operator name."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self.rules: dict[str, Rule] = dict(rules)
        self._classes: dict[tuple[Any, ...], list[str]] = {}
        for op, rule in self.rules.items():
            self._classes.setdefault(rule.signature_class, []).append(op)

    def check(self, op: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """Why eager would reject a call (types in place of operands), or None."""
        rule = self.rules.get(op)
        return f"no rule for operator {op!r}" if rule is None else rule.check(args, kwargs)

    def similar(self, op: str) -> list[str]:
        """Other operators of equal signature class, in a fixed order; their `check` decides for given operands."""
        rule = self.rules.get(op)
        return [] if rule is None else [o for o in self._classes[rule.signature_class] if o != op]
