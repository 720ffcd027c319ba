"""Numbers and inputs that come from outside: as arguments, from state, one input for two parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import torch.fx as fx

from ...ir.builder import Builder, Rejected
from ...ir.program import Ref, State
from ...ir.types import scalar
from ..numbers import Numbers
from .places import call_plainly, first_call_of, parameter


def pass_number(numbers: Numbers, rng: Random) -> None:
    """A literal becomes an argument; where any number may stand, further calls pass others."""
    b, f = numbers.b, numbers.f
    first = first_call_of(numbers)
    _, value, others = numbers.outside(rng, lambda value: parameter(numbers, value))
    b.calls = [replace(c, args=(*c.args, value)) if c.function == f.name else c for c in b.calls]
    for other in rng.sample(others, min(len(others), rng.choice((1, 2)))):
        b.add_call(replace(first, args=(*first.args, other), result=None))


def read_number(numbers: Numbers, rng: Random) -> None:
    """A literal is read from Python state; where any number may stand, the function, or a plain call behind it, puts
    another there, which a second call meets."""
    b, f = numbers.b, numbers.f
    first, states = first_call_of(numbers), b.states
    kind, make, write, read = rng.choice(_NUMBER_PLACES)
    name = b.fresh_name("s")

    def reading(value: int | float) -> fx.Node:
        b.states = [*states, State(name, kind, make(value))]
        op, *key = read
        return f.op(op, (f.read(name), *key), before=next(iter(f.body), None), type=scalar(value))

    try:
        _, _, others = numbers.outside(rng, reading)
    except Rejected:
        b.states = states
        raise
    if others:
        op, *key = write
        outside = rng.random() < 0.5
        by = b.function(b.fresh_name("h")) if outside else f
        by.op(op, (by.read(name), *key, rng.choice(others)))
        if outside:
            call_plainly(b, by)
        b.add_call(replace(first, result=None))


# Kind of a state and its content for a number, how another gets there, and how it is read.
_NUMBER_PLACES: tuple[tuple[str, Callable[[Any], Any], tuple[Any, ...], tuple[Any, ...]], ...] = (
    ("global", lambda n: n, ("state.assign",), ("state.read",)),
    ("list", lambda n: [n], ("state.setitem", 0), ("state.getitem", 0)),
    ("list", lambda n: [n], ("state.append",), ("state.getitem", -1)),
    ("dict", lambda n: {"n": n}, ("state.setitem", "n"), ("state.getitem", "n")),
    ("object", lambda n: {"n": n}, ("state.setattr", "n"), ("state.getattr", "n")),
    ("class", lambda n: {"n": n}, ("state.setattr", "n"), ("state.getattr", "n")),
)


def pass_twice(numbers: Numbers, rng: Random) -> None:
    """One input is passed for two parameters, in all calls; or, where the two are alike, in a further call only."""
    b = numbers.b
    first = first_call_of(numbers)
    names = [a for a in first.args if isinstance(a, Ref) and _stands_alone(b, a.name)]
    pairs = [(x, y) for x in names for y in names if x != y and _shape(b, x) == _shape(b, y)]
    if not pairs:
        raise Rejected("no two inputs have the same shape")
    kept, gone = rng.choice(pairs)
    alike, doubts = _like(b, kept) == _like(b, gone), len(numbers.doubts())
    if alike and not doubts and rng.random() < 0.5:
        b.add_call(replace(first, args=_with(first.args, gone, kept), result=None))
        return
    calls, inputs = b.calls, b.inputs
    b.calls = [replace(c, args=_with(c.args, gone, kept)) for c in calls]
    b.inputs = [s for s in inputs if Ref(s.name) != gone]
    if not alike and len(numbers.doubts()) > doubts:
        b.calls, b.inputs = calls, inputs
        raise Rejected("its elements may be out of range")


def _with(args: tuple[Any, ...], gone: Ref, kept: Ref) -> tuple[Any, ...]:
    return tuple(kept if a == gone else a for a in args)


def _stands_alone(b: Builder, name: str) -> bool:
    """Whether that is an input which shares its memory with no other."""
    return not b.spec(name).view_of and not any(s.view_of == name for s in b.inputs)


def _shape(b: Builder, ref: Ref) -> tuple[Any, ...]:
    kind = b.spec(ref.name).type
    return kind.dtype, kind.shape, kind.requires_grad


def _like(b: Builder, ref: Ref) -> tuple[Any, ...]:
    spec = b.spec(ref.name)
    return spec.type, spec.values.kind, spec.values.params
