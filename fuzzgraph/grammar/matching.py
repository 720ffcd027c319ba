"""Holding the arguments of a call against a rule: binding, shape and dtype variables, preconditions, storage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..ir.types import FROM_TORCH, AnyType, NoneType, ScalarType, SequenceType, TensorType
from . import attributes, expressions
from .dtypes import can_cast
from .model import AttributeSpec, Env, Expr, Param, Shape, Spec, TensorSpec
from .wants import ValueDomain

if TYPE_CHECKING:
    from .rule import Rule

import torch


def bind(rule: Rule, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any] | str:
    """Arguments by parameter name, as Python binds them, or a reason."""
    positional = [p for p in rule.params if not p.keyword_only]
    if len(args) > len(positional):
        return f"{rule.op} takes {len(positional)} positional arguments, not {len(args)}"
    bound = {p.name: value for p, value in zip(positional, args, strict=False)}
    known = rule.param
    for name, value in kwargs.items():
        if name not in known:
            return f"{rule.op} has no parameter {name!r}"
        if name in bound:
            return f"{rule.op} got {name!r} twice"
        bound[name] = value
    missing = [p.name for p in rule.params if p.name not in bound and not p.optional]
    return f"{rule.op} needs {missing[0]!r}" if missing else bound


def match(rule: Rule, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Env | str:
    """The variables of the rule for these arguments, or the reason why they do not fit."""
    bound = bind(rule, args, kwargs)
    if isinstance(bound, str):
        return bound
    env = new_env(rule)
    for name in rule.order:
        param = rule.param[name]
        if name in bound:
            value = normal(bound[name])
            if (reason := match_param(param, value, env)) is not None:
                return f"{name}: {reason}"
        else:
            env[name] = param.default
    if (reason := failing(rule, env)) is not None:
        return reason
    return storage_problem(rule, env) or env


def new_env(rule: Rule) -> Env:
    """What expressions may read before any argument is bound: `writing` is true in the in-place variant."""
    return {"writing": "inplace" in rule.tags}


def normal(value: Any) -> Any:
    """An argument as expressions see it: dtypes by short name, lists as tuples, None for the type of None, the number
    for a scalar of known value."""
    if isinstance(value, torch.dtype):
        return FROM_TORCH.get(value, str(value))
    if isinstance(value, SequenceType):
        return tuple(map(normal, value.items))
    if isinstance(value, (list, tuple)):
        return tuple(map(normal, value))
    if isinstance(value, slice):
        return slice(normal(value.start), normal(value.stop), normal(value.step))
    if isinstance(value, ScalarType) and value.value is not None:
        return value.value
    return None if isinstance(value, NoneType) else value


def match_param(param: Param, value: Any, env: Env) -> str | None:
    """Bind a parameter, and the variables of its pattern, in `env`; a reason where no alternative fits."""
    reasons = []
    for spec in param.specs:
        trial = dict(env)
        reason = match_spec(spec, value, trial)
        if reason is None:
            env.update(trial)
            env[param.name] = value
            return None
        reasons.append(reason)
    return reasons[0] if len(reasons) == 1 or isinstance(value, TensorType) else "; ".join(reasons)


def match_spec(spec: Spec, value: Any, env: Env) -> str | None:
    """Bind the variables of one alternative in `env`, or say why the value does not fit (env is then spoilt)."""
    if isinstance(spec, AttributeSpec):
        if isinstance(value, (TensorType, AnyType)):
            return f"a tensor or opaque value is no {spec.kind}"
        try:
            return attributes.accepts(spec, value, env)
        except (ValueError, TypeError, IndexError, KeyError, ZeroDivisionError) as error:
            return str(error)
    if spec.count is None:
        return match_tensor(spec, value, env)
    if not isinstance(value, tuple) or not spec.count[0] <= len(value) <= spec.count[1]:
        return f"not a list of {spec.count[0]}..{spec.count[1]} tensors"
    for item in value:
        if (reason := match_tensor(spec, item, env)) is not None:
            return reason
    return None


def match_tensor(spec: TensorSpec, value: Any, env: Env) -> str | None:
    if not isinstance(value, TensorType):
        return f"not a tensor: {value!r}"
    if spec.variable is not None:
        if (bound := env.setdefault(spec.variable, value.dtype)) != value.dtype:
            return f"dtype {value.dtype}, not {bound}"
    if value.dtype not in spec.dtypes:
        return f"dtype {value.dtype} is not one of {', '.join(sorted(spec.dtypes))}"
    if spec.written and value.has_overlap:
        return "a written operand has overlapping elements"
    if spec.dense and not value.is_contiguous:
        return "not contiguous"
    return None if spec.shape is None else match_shape(spec.shape, spec.broadcast, value.shape, env)


def match_shape(shape: Shape, broadcast: bool, sizes: tuple[int, ...], env: Env) -> str | None:
    """Bind the variables of a shape pattern in `env`, or say why sizes do not fit."""
    if shape.equal is not None:
        return match_equal(shape.equal, sizes, env)
    rest = len(sizes) - len(shape.head) - len(shape.tail)
    star = shape.star
    if rest < (star.low if star else 0) or (rest > (star.high if star else 0)):
        return f"rank {len(sizes)} does not fit"
    ends = zip(
        (*shape.head, *shape.tail), (*sizes[: len(shape.head)], *sizes[len(sizes) - len(shape.tail) :]), strict=True
    )
    for dim, size in ends:
        want = dim.size if dim.size is not None else env.setdefault(dim.name, size)
        if want != size:
            return f"shape {list(sizes)}: {dim.name or 'a dim'} is {size}, not {want}"
    if star is None:
        return None
    middle = sizes[len(shape.head) : len(shape.head) + rest]
    bound = env.setdefault(star.name, middle)
    if bound == middle:
        return None
    if not broadcast:
        return f"shape {list(sizes)} does not agree with {star.name} = {list(bound)}"
    try:
        env[star.name] = expressions.broadcast(bound, middle)
    except ValueError:
        return f"shape {list(sizes)} does not broadcast with {list(bound)}"
    return None


def match_equal(expr: Expr, sizes: tuple[int, ...], env: Env) -> str | None:
    try:
        want = tuple(expr(env))
    except Exception as error:  # an expression that does not apply to these types is one that does not hold
        return f"no shape: {error}"
    return None if want == sizes else f"shape {list(sizes)}, not {list(want)}"


def failing(rule: Rule, env: Env, ready_only: bool = False) -> str | None:
    """The reason of the first precondition that does not hold (`ready_only`: of those whose variables are bound)."""
    for condition in rule.conditions:
        if ready_only and not condition.names <= env.keys():
            continue
        try:
            if not condition.expr(env):
                return condition.reason
        except Exception as error:  # an expression that does not apply to these types is one that does not hold
            return f"{condition.reason} ({error})"
    if ready_only or rule.checker is None:
        return None
    return rule.checker(env)


def storage_problem(rule: Rule, env: Env) -> str | None:
    """Why writing operands would clash with reading others."""
    written = {p.name for p in rule.params if rule.writes(p) and env[p.name] is not None}
    every = [(p.name, i, t) for p in rule.params if written for i, t in enumerate(_tensors(env[p.name]))]
    for name, i, target in every:
        if name in written:
            for other, j, found in every:
                # Of lists only items of one place meet.
                if (other, j) != (name, i) and _may_clash(target, found, i == j and _elementwise(rule)):
                    return f"{name} is written and may share memory with {other}"
    if "out" in written and any(t.requires_grad for p in rule.params for t in _tensors(env[p.name])):
        return "out= does not differentiate"
    return None


def _tensors(value: Any) -> Iterator[TensorType]:
    if isinstance(value, TensorType):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _tensors(item)


def _elementwise(rule: Rule) -> bool:
    """Whether an element of the result surely depends on the elements at its own place only: the operands have one
    shape, and no attribute names a dim."""
    specs = [spec for param in rule.params for spec in param.specs]
    stars = set()
    for spec in specs:
        if isinstance(spec, AttributeSpec):
            if spec.kind in ("dim", "dims"):
                return False
        elif spec.shape is not None:
            if spec.count is not None or spec.shape.star is None or spec.shape.head or spec.shape.tail:
                return False
            stars.add(spec.shape.star.name)
    return len(stars) <= 1


def _may_clash(target: TensorType, other: TensorType, elementwise: bool) -> bool:
    """Whether writing `target` may change `other` midway: shared storage, unless element for element the same."""
    if target.alias is None or target.alias != other.alias:
        return False
    if not target.numel or not other.numel:
        # torch refuses an empty tensor that is written and read all the same.
        return not elementwise and target.offset == other.offset
    if elementwise and target.with_(requires_grad=False) == other.with_(requires_grad=False):
        return False
    if target.dtype != other.dtype:
        return True
    return target.offset < other.extent and other.offset < target.extent


def results(rule: Rule, env: Env) -> list[tuple[str, tuple[int, ...]]]:
    """Declared dtype and shape of each result tensor."""
    assert rule.result is not None
    if env.get("out") is not None:
        return [(env["out"].dtype, env["out"].shape)]
    return [(str(item.dtype(env)), tuple(item.shape(env))) for item in rule.result]


def inplace_fits(source: str, shape: tuple[int, ...], target: TensorType) -> bool:
    """Whether a result of that dtype and shape can be written into `target`."""
    return can_cast(source, target.dtype) and shape == target.shape


def domains(rule: Rule, args: tuple[Any, ...], kwargs: Mapping[str, Any], env: Env) -> dict[int, ValueDomain]:
    """Value domains by flat index of the tensor operand."""
    names = [p.name for p in rule.params]
    found: dict[int, ValueDomain] = {}
    inner = {} if rule.inner_domains is None else rule.inner_domains(env)
    at = 0
    for name, value in (*zip(names, args, strict=False), *kwargs.items()):
        tensors = list(_tensors(normal(value)))
        for domain in inner.get(name, [domain_of(rule.param[name], env)] * len(tensors)):
            if domain is not None:
                found[at] = domain
            at += 1
    return found


def domain_of(param: Param, env: Env) -> ValueDomain | None:
    specs = [s for s in param.specs if isinstance(s, TensorSpec) and s.values is not None]
    return specs[0].values.domain(env) if specs and specs[0].values is not None else None
