"""Kinds of attributes: which values a parameter may have, and how one is drawn.

A kind has `accepts(value, args, env) -> reason | None` and `draw(args, env, rng) -> value`; both get the evaluated
parameters of the notation, such as the two bounds of `int(0, 3)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import torch

from ..ir.types import DTYPES, FROM_TORCH, FunctionType, ScalarType
from .expressions import shape_of
from .model import AttributeSpec, Env

Args = tuple[Any, ...]
Accepts = Callable[[Any, Args, tuple[Any, ...]], "str | None"]
Draw = Callable[[Args, Random], Any]

EDGE_INTS = (0, 1, 2, 3, -1, -2, 5, 7, 16, 127, -128)
EDGE_FLOATS = (
    0.5, 1.0, 2.0, -1.5, 0.0, -0.0, 3.0, 0.1, 1e-30, 1e30, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip


class NoValue(Exception):
    """Nothing can be drawn: the kind's range is empty here, or only a sampler draws it."""


@dataclass(frozen=True)
class Kind:
    """An attribute kind. `scalar`: a Python scalar that the program does not fix will do (its kinds)."""

    accepts: Accepts
    draw: Draw
    scalar: tuple[str, ...] = ()


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _in_range(value: Any, args: Args) -> str | None:
    if args and not args[0] <= value <= args[1]:
        return f"{value} is not in {args[0]}..{args[1]}"
    return None


def _accept_int(value: Any, args: Args, values: tuple[Any, ...]) -> str | None:
    return _in_range(value, args) if _is_int(value) else f"{value!r} is not an int"


def _draw_int(args: Args, rng: Random) -> int:
    if not args:
        return rng.choice(EDGE_INTS)
    low, high = args
    if low > high:
        raise NoValue
    inside = [v for v in (low, high, *EDGE_INTS) if low <= v <= high]
    return int(rng.choice(inside) if rng.random() < 0.4 else rng.randint(low, high))


def _accept_float(value: Any, args: Args, values: tuple[Any, ...]) -> str | None:
    if isinstance(value, float) or _is_int(value):
        return _in_range(value, args)
    return f"{value!r} is not a float"


def _draw_float(args: Args, rng: Random) -> float:
    if not args:
        return rng.choice(EDGE_FLOATS)
    low, high = args
    return rng.choice((float(low), float(high), rng.uniform(low, high)))


def _accept_number(value: Any, args: Args, values: tuple[Any, ...]) -> str | None:
    return None if isinstance(value, (bool, int, float, complex)) else f"{value!r} is not a number"


def _draw_number(args: Args, rng: Random) -> Any:
    roll = rng.random()
    if roll < 0.05:
        return rng.random() < 0.5
    return rng.choice(EDGE_INTS) if roll < 0.55 else rng.choice(EDGE_FLOATS)


def _accept_bool(value: Any, args: Args, values: tuple[Any, ...]) -> str | None:
    return None if isinstance(value, bool) else f"{value!r} is not a bool"


def _accept_choice(value: Any, args: Args, values: tuple[Any, ...]) -> str | None:
    found = any(value == v and type(value) is type(v) for v in values)
    return None if found else f"{value!r} is not one of {', '.join(map(repr, values))}"


def _accept_dim(value: Any, args: Args, values: tuple[Any, ...]) -> str | None:
    rank = _rank(args)
    if not _is_int(value) or not -rank <= value < rank:
        return f"{value!r} is no dim of rank {rank}"
    return None


def _rank(args: Args) -> int:
    """Dims that may be named: a rank given as a number is exact, rank 0 of a tensor has the dims 0 and -1."""
    return args[0] if _is_int(args[0]) else max(len(shape_of(args[0])), 1)


def _draw_dim(args: Args, rng: Random) -> int:
    rank = _rank(args)
    if rank == 0:
        raise NoValue
    return rng.randrange(-rank, rank)


def _accept_dims(value: Any, args: Args, values: tuple[Any, ...]) -> str | None:
    if not isinstance(value, (tuple, list)):
        return f"{value!r} is not a tuple of dims"
    rank = _rank(args)
    for dim in value:
        if (reason := _accept_dim(dim, args, values)) is not None:
            return reason
    return None if len({d % rank for d in value}) == len(value) else f"{value!r} names a dim twice"


def _draw_dims(args: Args, rng: Random) -> tuple[int, ...]:
    rank = _rank(args)
    chosen = rng.sample(range(rank), rng.randint(min(rank, 1), rank))
    return tuple(d - rank if rng.random() < 0.3 else d for d in chosen)


def _accept_permutation(value: Any, args: Args, values: tuple[Any, ...]) -> str | None:
    rank = len(shape_of(args[0]))
    if not isinstance(value, (tuple, list)) or not all(_is_int(d) and -rank <= d < rank for d in value):
        return f"{value!r} is not a tuple of dims of rank {rank}"
    return None if sorted(d % rank for d in value) == list(range(rank)) else f"{value!r} is no permutation"


def _draw_permutation(args: Args, rng: Random) -> tuple[int, ...]:
    rank = len(shape_of(args[0]))
    return tuple(d - rank if rng.random() < 0.2 else d for d in rng.sample(range(rank), rank))


def _accept_dtype(value: Any, args: Args, values: tuple[Any, ...]) -> str | None:
    name = value if isinstance(value, str) else FROM_TORCH.get(value)
    return None if name in args[0] else f"dtype {name or value} is not one of {', '.join(sorted(args[0]))}"


def _draw_dtype(args: Args, rng: Random) -> torch.dtype:
    if not args[0]:
        raise NoValue
    return DTYPES[rng.choice(sorted(args[0]))].torch_dtype


def _accept_ints(value: Any, args: Args, values: tuple[Any, ...]) -> str | None:
    """ints(low, high, shortest, longest)"""
    if not isinstance(value, (tuple, list)) or not all(_is_int(v) for v in value):
        return f"{value!r} is not a tuple of ints"
    if len(args) == 4 and not args[2] <= len(value) <= args[3]:
        return f"{value!r} has not {args[2]}..{args[3]} items"
    return next((r for v in value if (r := _in_range(v, args[:2]))), None)


def _draw_ints(args: Args, rng: Random) -> tuple[int, ...]:
    low, high, shortest, longest = args
    if low > high or shortest > longest:
        raise NoValue
    return tuple(rng.randint(low, high) for _ in range(rng.randint(shortest, longest)))


def _accept_type(name: str, *types: type) -> Accepts:
    def accepts(value: Any, args: Args, values: tuple[Any, ...]) -> str | None:
        return None if isinstance(value, types) else f"{value!r} is not a {name}"

    return accepts


def _no_draw(args: Args, rng: Random) -> Any:
    raise NoValue


_FORMATS = (torch.contiguous_format, torch.preserve_format)

KINDS: dict[str, Kind] = {
    "int": Kind(_accept_int, _draw_int),
    "float": Kind(_accept_float, _draw_float, ("int", "float")),
    "number": Kind(_accept_number, _draw_number, ("bool", "int", "float", "complex")),
    "bool": Kind(_accept_bool, lambda args, rng: rng.random() < 0.5),
    "choice": Kind(_accept_choice, _no_draw),
    "dim": Kind(_accept_dim, _draw_dim),
    "dims": Kind(_accept_dims, _draw_dims),
    "permutation": Kind(_accept_permutation, _draw_permutation),
    "dtype": Kind(_accept_dtype, _draw_dtype),
    "ints": Kind(_accept_ints, _draw_ints),
    "format": Kind(_accept_type("memory format", torch.memory_format), lambda args, rng: rng.choice(_FORMATS)),
    "none": Kind(lambda v, a, s: None if v is None else f"{v!r} is not None", lambda args, rng: None),
    # Only a sampler draws these, and its checker judges them.
    "function": Kind(_accept_type("function", FunctionType), _no_draw),
    "text": Kind(_accept_type("string", str), _no_draw),
    "value": Kind(lambda v, a, s: None, _no_draw),
}


def accepts(spec: AttributeSpec, value: Any, env: Env) -> str | None:
    """Why a value is outside an attribute's domain, or None. Edge values only guide the draw, but for a choice."""
    kind = KINDS[spec.kind]
    if isinstance(value, ScalarType):
        return None if value.kind in kind.scalar else f"a {value.kind} of unknown value is no {spec.kind}"
    return kind.accepts(value, tuple(arg(env) for arg in spec.args), spec.values)


def draw(spec: AttributeSpec, env: Env, rng: Random) -> Any:
    """A value of the domain, edge values preferred. Raises NoValue."""
    kind = KINDS[spec.kind]
    args = tuple(arg(env) for arg in spec.args)
    if spec.values and (kind.draw is _no_draw or rng.random() < 0.7):
        fitting = [v for v in spec.values if kind.accepts(v, args, spec.values) is None]
        if fitting:
            return rng.choice(fitting)
    return kind.draw(args, rng)
