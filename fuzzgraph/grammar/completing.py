"""Drawing the rest of a call some of whose arguments are given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from ..ir.types import TensorType
from . import matching
from .attributes import NoValue
from .model import Draft, OperandSource, TensorSpec
from .sampling import Sampling, draw_spelling
from .wants import ShapeWant, ValueDomain

if TYPE_CHECKING:
    from .rule import Rule

# Half of them with the rule's sampler, which knows more than the notation, and may not find to what is given.
ATTEMPTS = 8


class Completing(Sampling):
    """A sampling that takes what is given as it is: operand and type by parameter name. Of the optional parameters only
    those in `free` are drawn."""

    def __init__(
        self, rule: Rule, given: Mapping[str, tuple[Any, Any]], free: Collection[str], source: OperandSource,
        rng: Random,
    ) -> None:  # fmt: skip
        super().__init__(rule, source, rng)
        self.given, self.free = given, free

    def take(self, name: str) -> bool:
        """Use what is given for a parameter, if anything is."""
        if name in self.given and not self.done(name):
            operand, found = self.given[name]
            self.give(name, operand, matching.normal(found))
        return name in self.given

    def param(self, name: str, literal: bool = False) -> Any:
        if not self.done(name) and not self.take(name):
            if self.rule.param[name].optional and name not in self.free:
                self.omit(name)
            else:
                super().param(name, literal)
        return self.env[name]

    def set(self, name: str, value: Any) -> None:
        if not self.take(name):
            super().set(name, value)

    def omit(self, name: str) -> None:
        if not self.take(name):
            super().omit(name)

    def tensor(
        self, name: str, dtypes: frozenset[str] | None = None, shape: ShapeWant | tuple[int, ...] | None = None,
        values: ValueDomain | None = None, spec: TensorSpec | None = None,
    ) -> TensorType:  # fmt: skip
        if not self.take(name):
            return super().tensor(name, dtypes, shape, values, spec)
        found = self.env[name]
        if not isinstance(found, TensorType):
            raise NoValue
        return found

    def tensors(
        self, name: str, shapes: list[ShapeWant] | None = None, spec: TensorSpec | None = None
    ) -> tuple[TensorType, ...]:
        if not self.take(name):
            return super().tensors(name, shapes, spec)
        found: tuple[TensorType, ...] = self.env[name]
        return found


def complete(
    rule: Rule, given: Mapping[str, tuple[Any, Any]], free: Collection[str], source: OperandSource, rng: Random
) -> tuple[Draft, dict[str, tuple[Any, Any]]] | None:
    """A call that `check` accepts with the given arguments, and all its arguments by name; None where none is found."""
    for number in range(ATTEMPTS):
        attempt = Completing(rule, given, free, source, rng)
        try:
            if rule.sampler is not None and number % 2 == 0:
                rule.sampler(attempt)
            for name in rule.order:
                attempt.param(name)
        except NoValue:
            continue
        if any(attempt.operands.get(name) is not operand for name, (operand, _) in given.items()):
            continue  # a sampler gave another
        args, kwargs, types, kwtypes = attempt.finish()
        if rule.check(types, kwtypes) is None:
            drawn = {name: (operand, attempt.env[name]) for name, operand in attempt.operands.items()}
            return Draft(rule.op, args, kwargs, draw_spelling(rule, types, kwtypes, rng)), drawn
    return None
