"""Drawing calls from a rule: operands of a source, attributes from their domains, until `check` accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from ..ir.types import FunctionType, TensorType, Type
from . import attributes, matching
from .attributes import NoValue
from .dtypes import DTypes
from .model import AttributeSpec, Dim, Draft, Env, Expr, Frame, OperandSource, Param, TensorSpec
from .spelling import STANDARD
from .wants import ShapeWant, ValueDomain, Want, draw_size

if TYPE_CHECKING:
    from .rule import Rule

# A failed draw is cheap (microseconds) where operands are fresh, and costs operands where they come from a program.
ATTEMPTS = 6
ATTRIBUTE_DRAWS = 12
OMIT_SHARE = 0.5
RARE_OMIT_SHARE = 0.9
TENSOR_SHARE = 0.75
PALETTE_RANKS = (1, 2, 3)


class Sampling:
    """One attempt: `env` holds types and values by parameter name and the bound variables, `operands` what the
    source gave. Samplers beside the rule files work on it: `param(name)` draws a parameter as its rule says,
    `tensor(name, ...)` an operand with more conditions, `set(name, value)` fixes an attribute, `omit(name)` leaves
    a parameter at its default. Raise NoValue where nothing fits.
    """

    def __init__(self, rule: Rule, source: OperandSource, rng: Random) -> None:
        self.rule, self.source, self.rng = rule, source, rng
        self.env: Env = matching.new_env(rule)
        self.operands: dict[str, Any] = {}

    def done(self, name: str) -> bool:
        return name in self.operands or name in self.env

    def set(self, name: str, value: Any) -> None:
        """Give a parameter a literal value."""
        trial = dict(self.env)
        if matching.match_param(self.rule.param[name], matching.normal(value), trial) is not None:
            raise NoValue
        self.env = trial
        self.operands[name] = value
        if matching.failing(self.rule, self.env, ready_only=True) is not None:
            raise NoValue

    def omit(self, name: str) -> None:
        if not self.rule.param[name].optional:
            raise NoValue
        self.env[name] = self.rule.param[name].default
        if matching.failing(self.rule, self.env, ready_only=True) is not None:
            raise NoValue

    def param(self, name: str, literal: bool = False) -> Any:
        """Draw a parameter (`literal`: no tensor for it); returns its type or value."""
        param = self.rule.param[name]
        if self.done(name):
            return self.env[name]
        share = RARE_OMIT_SHARE if param.rare else OMIT_SHARE
        if param.optional and self.rng.random() < share:
            try:
                self.omit(name)
                return self.env[name]
            except NoValue:
                del self.env[name]
        spec = self._choose(param, literal)
        if isinstance(spec, AttributeSpec):
            self._draw_attribute(name, spec)
        elif spec.count is None:
            self.tensor(name, spec=spec)
        else:
            self.tensors(name, spec=spec)
        return self.env[name]

    def _choose(self, param: Param, literal: bool) -> Any:
        tensors = [s for s in param.specs if isinstance(s, TensorSpec)]
        others = [s for s in param.specs if isinstance(s, AttributeSpec)]
        if not tensors or literal or (others and self.rng.random() >= TENSOR_SHARE):
            return self.rng.choice(others)
        return self.rng.choice(tensors)

    def _draw_attribute(self, name: str, spec: AttributeSpec) -> None:
        for _ in range(ATTRIBUTE_DRAWS):
            value = draw_value(spec, self.env, self.rng)
            before = self.env
            try:
                return self.set(name, value)
            except NoValue:
                self.env = before
                self.operands.pop(name, None)
        raise NoValue

    def tensor(
        self,
        name: str,
        dtypes: frozenset[str] | None = None,
        shape: ShapeWant | tuple[int, ...] | None = None,
        values: ValueDomain | None = None,
        spec: TensorSpec | None = None,
    ) -> TensorType:
        """Draw a tensor operand that also has one of these dtypes, this shape, these values."""
        spec = spec or next(s for s in self.rule.param[name].specs if isinstance(s, TensorSpec))
        operand, found = self._request(name, spec, dtypes, shape, values)
        self.give(name, operand, found)
        return found

    def give(self, name: str, operand: Any, found: Any) -> None:
        """Use an operand of this type for a parameter."""
        if matching.match_param(self.rule.param[name], found, self.env) is not None:
            raise NoValue
        self.operands[name] = operand
        if matching.failing(self.rule, self.env, ready_only=True) is not None:
            raise NoValue

    def function(self, name: str, frame: Frame) -> None:
        """Give a parameter a function."""
        operand = self.source.function(frame, self.rng)
        if operand is None:
            raise NoValue
        self.give(name, operand, FunctionType())

    def operand(self, want: Want) -> tuple[Any, TensorType]:
        """An operand for a place inside an argument, such as an index tensor; `give` it as part of that."""
        found = self.source.tensor(want, self.rng)
        if found is None:
            raise NoValue
        return found

    def tensors(
        self, name: str, shapes: list[ShapeWant] | None = None, spec: TensorSpec | None = None
    ) -> tuple[TensorType, ...]:
        """Draw a list of tensors, as many as `shapes` has or a number in the rule's range."""
        spec = spec or next(s for s in self.rule.param[name].specs if isinstance(s, TensorSpec) and s.count)
        assert spec.count is not None
        wants = shapes if shapes is not None else [None] * self.rng.randint(*spec.count)
        operands, types = [], []
        for shape in wants:
            operand, found = self._request(name, spec, None, shape, None, partial=True)
            matching.match_tensor(spec, found, self.env)
            operands.append(operand)
            types.append(found)
        self.give(name, operands, tuple(types))
        return tuple(types)

    def _request(
        self,
        name: str,
        spec: TensorSpec,
        dtypes: frozenset[str] | None,
        shape: ShapeWant | tuple[int, ...] | None,
        values: ValueDomain | None,
        partial: bool = False,
    ) -> tuple[Any, TensorType]:
        want = self._want(name, spec, dtypes, shape, values, partial)
        found = self.source.tensor(want, self.rng) if want.dtypes else None
        if found is None:
            raise NoValue
        return found

    def _want(
        self,
        name: str,
        spec: TensorSpec,
        dtypes: frozenset[str] | None,
        shape: ShapeWant | tuple[int, ...] | None,
        values: ValueDomain | None,
        partial: bool,
    ) -> Want:
        allowed = spec.dtypes if dtypes is None else spec.dtypes & dtypes
        if spec.variable in self.env:
            allowed = allowed & {self.env[spec.variable]}
        if shape is None:
            shape = shape_want(spec, self.env, "inplace" in self.rule.tags)
        elif isinstance(shape, tuple):
            shape = ShapeWant(head=shape)
        if values is None and spec.values is not None:
            try:
                values = spec.values.domain(self.env)
            except (TypeError, ValueError, IndexError, KeyError) as error:
                raise NoValue from error
        accept = self._accept(name, spec, partial)
        if self.rule.conditions:
            allowed = self._narrow(allowed, shape, accept)
        return Want(DTypes(allowed), shape, values, spec.written, accept)

    def _accept(self, name: str, spec: TensorSpec, partial: bool) -> Callable[[TensorType], str | None]:
        env = dict(self.env)
        param = self.rule.param[name]

        def accept(found: TensorType) -> str | None:
            trial = dict(env)
            if partial:
                return matching.match_tensor(spec, found, trial)
            reason = matching.match_param(param, found, trial)
            return reason or matching.failing(self.rule, trial, ready_only=True)

        return accept

    def _narrow(
        self, allowed: frozenset[str], shape: ShapeWant, accept: Callable[[TensorType], str | None]
    ) -> frozenset[str]:
        """The dtypes that some shape makes acceptable, so that a source does not adapt operands in vain."""
        from ..ir.types import tensor

        shapes = [shape.draw(self.rng) for _ in range(3)]
        return frozenset(d for d in sorted(allowed) if any(accept(tensor(d, s)) is None for s in shapes)) or allowed

    def finish(self) -> tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...], dict[str, Any]]:
        """Arguments as operands and as types, positional up to the first that is left out."""
        args: list[Any] = []
        types: list[Any] = []
        kwargs: dict[str, Any] = {}
        kwtypes: dict[str, Any] = {}
        skipped = False
        for param in self.rule.params:
            if param.name not in self.operands:
                skipped = True
                continue
            operand, found = self.operands[param.name], self.env[param.name]
            if param.keyword_only or skipped:
                kwargs[param.name], kwtypes[param.name] = operand, found
            else:
                args.append(operand)
                types.append(found)
        return tuple(args), kwargs, tuple(types), kwtypes


def draw_value(spec: AttributeSpec, env: Env, rng: Random) -> Any:
    """A value of an attribute's domain. Raises NoValue."""
    try:
        return attributes.draw(spec, env, rng)
    except (ValueError, TypeError, IndexError, KeyError) as error:
        raise NoValue from error


def shape_want(spec: TensorSpec, env: Env, inplace: bool = False) -> ShapeWant:
    """The shape that an operand may have, given the variables bound so far."""
    if spec.shape is None:
        return ShapeWant(ranks=(0, 5))
    if spec.shape.equal is not None:
        return ShapeWant(head=_exact(spec.shape.equal, env))
    head, tail = (tuple(map(_size(env), dims)) for dims in (spec.shape.head, spec.shape.tail))
    star = spec.shape.star
    if star is None:
        return ShapeWant(head, None, tail)
    if star.name not in env:
        return ShapeWant(head, (star.low, star.high), tail)
    bound = env[star.name]
    if not spec.broadcast:
        return ShapeWant((*head, *bound), None, tail)
    return ShapeWant(head, (star.low, star.high), tail, broadcast=bound, into=inplace)


def _exact(expr: Expr, env: Env) -> tuple[int, ...]:
    try:
        return tuple(expr(env))
    except Exception as error:  # as in matching: it does not apply
        raise NoValue from error


def _size(env: Env) -> Callable[[Dim], int | None]:
    return lambda dim: dim.size if dim.size is not None else env.get(dim.name)


def sample(rule: Rule, source: OperandSource, rng: Random) -> Draft | None:
    """See Rule.sample."""
    for _ in range(ATTEMPTS):
        draft = _attempt(Sampling(rule, source, rng))
        if draft is not None:
            return draft
    return None


def _attempt(attempt: Sampling) -> Draft | None:
    rule = attempt.rule
    try:
        if rule.sampler is not None:
            rule.sampler(attempt)
        for name in rule.order:
            attempt.param(name)
    except NoValue:
        return None
    args, kwargs, types, kwtypes = attempt.finish()
    if rule.check(types, kwtypes) is not None:
        return None
    return Draft(rule.op, args, kwargs, draw_spelling(rule, types, kwtypes, attempt.rng))


def draw_spelling(rule: Rule, types: tuple[Any, ...], kwtypes: Mapping[str, Any], rng: Random) -> str:
    """One of the spellings that fit; those of the rule's own count more than the standard ones."""
    names = rule.spellings_for(types, kwtypes)
    return rng.choices(names, [1 if n in STANDARD else 2 for n in names])[0]


class _Replay:
    """A source that gives the operands that a call already has."""

    def __init__(self, operands: list[tuple[Any, TensorType]]) -> None:
        self.operands = operands

    def tensor(self, want: Want, rng: Any) -> tuple[Any, TensorType] | None:
        if not self.operands or want.problem(self.operands[0][1]) is not None:
            return None
        return self.operands.pop(0)

    def function(self, frame: Frame, rng: Any) -> None:
        return None


def resample_attribute(
    rule: Rule, args: tuple[Any, ...], kwargs: Mapping[str, Any], rng: Random, type_of: Callable[[Any], Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """See Rule.resample_attribute."""
    bound = matching.bind(rule, args, kwargs)
    if isinstance(bound, str):
        return None
    types = {name: map_operands(value, type_of) for name, value in bound.items()}
    for _ in range(ATTEMPTS):
        found = _resampled(rule, bound, types, rng)
        if found is not None:
            return found
    return None


def map_operands(value: Any, type_of: Callable[[Any], Any]) -> Any:
    """Types in place of operands, lists, tuples and slices included."""
    if isinstance(value, slice):
        return slice(*(map_operands(v, type_of) for v in (value.start, value.stop, value.step)))
    if isinstance(value, (list, tuple)):
        return type(value)(map_operands(v, type_of) for v in value)
    return type_of(value)


def _resampled(
    rule: Rule, bound: dict[str, Any], types: dict[str, Any], rng: Random
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    attempt = Sampling(rule, _Replay(_operands(rule, bound, types)), rng)
    names = [p.name for p in rule.params if any(isinstance(s, AttributeSpec) for s in p.specs)]
    names = [n for n in names if not _is_operand(types.get(n))]
    if not names:
        return None
    chosen = rng.choice(names)
    try:
        if rule.sampler is not None and rng.random() < 0.5:
            rule.sampler(attempt)
        for name in rule.order:
            if attempt.done(name):
                continue
            if name == chosen:
                attempt.param(name, literal=True)
            elif name in bound:
                attempt.give(name, bound[name], matching.normal(types[name]))
            else:
                attempt.omit(name)
    except NoValue:
        return None
    new_args, new_kwargs, new_types, new_kwtypes = attempt.finish()
    same = (
        all(repr(attempt.env[n]) == repr(matching.normal(types[n])) for n in types)
        and attempt.operands.keys() == bound.keys()
    )
    return None if same or rule.check(new_types, new_kwtypes) is not None else (new_args, new_kwargs)


def _operands(rule: Rule, bound: dict[str, Any], types: dict[str, Any]) -> list[tuple[Any, TensorType]]:
    """Tensor operands in the order in which the rule draws them."""
    found: list[tuple[Any, TensorType]] = []
    for name in rule.order:
        value, kind = bound.get(name), types.get(name)
        if isinstance(kind, TensorType):
            found.append((value, kind))
        elif isinstance(kind, (list, tuple)) and isinstance(value, (list, tuple)):
            found += [(v, k) for v, k in zip(value, kind, strict=True) if isinstance(k, TensorType)]
    return found


def _is_operand(found: Any) -> bool:
    """Whether an argument is, or holds, an operand rather than a literal."""
    if isinstance(found, slice):
        found = (found.start, found.stop, found.step)
    if isinstance(found, (list, tuple)):
        return any(map(_is_operand, found))
    return isinstance(found, Type)


__all__ = ["NoValue", "Sampling", "draw_size", "resample_attribute", "sample"]
