"""Expressions of rule files: a subset of Python (rules.lark says which) over types, attributes and variables.

The functions that an expression may call are FUNCTIONS. A function that meets types it does not apply to raises;
the caller counts that as a precondition that does not hold.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable
from typing import Any

from ..ir.types import DTYPES, ScalarType, TensorType
from . import dtypes
from .model import Env, Expr

Ints = tuple[int, ...]


def broadcast(*shapes: Any) -> Ints:
    """The shape that shapes (or tensor types; numbers count as rank 0) broadcast to. Raises ValueError."""
    result: list[int] = []
    for shape in map(shape_of, shapes):
        if len(shape) > len(result):
            result[:0] = [1] * (len(shape) - len(result))
        for at in range(-len(shape), 0):
            if result[at] == 1:
                result[at] = shape[at]
            elif shape[at] not in (1, result[at]):
                raise ValueError(f"shapes {[shape_of(s) for s in shapes]} do not broadcast")
    return tuple(result)


def shape_of(value: Any) -> Ints:
    if isinstance(value, TensorType):
        return value.shape
    return tuple(value) if isinstance(value, (tuple, list)) else ()


def is_tensor(value: Any) -> bool:
    return isinstance(value, TensorType)


def has_tensor(*values: Any) -> bool:
    """Whether at least one of the operands is a tensor."""
    return any(isinstance(v, TensorType) for v in values)


def kind(*values: Any) -> str:
    """bool, int, float or complex: of the dtype that the operands promote to."""
    return DTYPES[dtypes.promote(*values)].kind


def wrap(dim: int, rank: int) -> int:
    """A dim counted from the front; rank 0 counts as rank 1."""
    rank = max(rank, 1)
    if not -rank <= dim < rank:
        raise ValueError(f"dim {dim} is out of range for rank {rank}")
    return dim % rank


def dims_of(dim: Any, rank: int) -> Ints:
    """Dims counted from the front; None and () mean all."""
    if dim is None or dim == ():
        return tuple(range(rank))
    return tuple(wrap(d, rank) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))


def reduced(shape: Any, dim: Any, keepdim: bool = False) -> Ints:
    """The shape left by a reduction over dims (None and (): all)."""
    sizes = shape_of(shape)
    gone = dims_of(dim, len(sizes))
    if keepdim:
        return tuple(1 if d in gone else n for d, n in enumerate(sizes))
    return tuple(n for d, n in enumerate(sizes) if d not in gone)


def size_at(shape: Any, dim: int) -> int:
    """Size of a dim; 1 for rank 0."""
    sizes = shape_of(shape)
    return sizes[wrap(dim, len(sizes))] if sizes else 1


def sizes_at(shape: Any, dim: Any) -> Ints:
    """Sizes of the dims that a reduction runs over (None and (): all)."""
    sizes = shape_of(shape)
    return tuple(sizes[d] for d in dims_of(dim, len(sizes))) if sizes else ()


def replaced(shape: Any, dim: int, size: int) -> Ints:
    """A shape with another size at a dim."""
    sizes = list(shape_of(shape))
    if sizes:
        sizes[wrap(dim, len(sizes))] = size
    return tuple(sizes)


def without(shape: Any, *dims: int) -> Ints:
    """A shape without some dims."""
    sizes = shape_of(shape)
    gone = {wrap(d, len(sizes)) for d in dims}
    return tuple(n for d, n in enumerate(sizes) if d not in gone)


def swapped(shape: Any, first: int, second: int) -> Ints:
    sizes = list(shape_of(shape))
    if sizes:
        a, b = wrap(first, len(sizes)), wrap(second, len(sizes))
        sizes[a], sizes[b] = sizes[b], sizes[a]
    return tuple(sizes)


def product(values: Iterable[int]) -> int:
    return math.prod(shape_of(values) or values)


def all_even(values: Iterable[int]) -> bool:
    return all(v % 2 == 0 for v in values)


def distinct(values: Any, rank: int) -> bool:
    """Whether dims name each dim of a tensor of that rank at most once."""
    found = dims_of(values, rank)
    return len(set(found)) == len(found)


def known(*values: Any) -> bool:
    """Whether the program fixes the values of these Python scalars."""
    return not any(isinstance(v, ScalarType) for v in values)


def finite(value: Any) -> bool:
    """Whether a Python number is real and of a magnitude that arithmetic with a few others keeps within 64 bits, as far
    as the program fixes it."""
    if isinstance(value, ScalarType):
        return value.kind in ("bool", "int", "float")
    return isinstance(value, (bool, int, float)) and abs(value) < 1e6


def pick(condition: Any, first: Any, second: Any) -> Any:
    """`first` where the condition holds, else `second`: a result's dtype is a call, not a conditional."""
    return first if condition else second


def loss_shape(shape: Any, reduction: str) -> Ints:
    """Shape of a loss: all of it without a reduction, else rank 0."""
    return shape_of(shape) if reduction == "none" else ()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        broadcast, shape_of, is_tensor, has_tensor, kind, wrap, dims_of, reduced, size_at, sizes_at, replaced,
        without, swapped, product, all_even, distinct, known, finite, loss_shape, pick, dtypes.promote, dtypes.can_cast,
        dtypes.floating, dtypes.real_of, dtypes.complex_of, dtypes.summed, dtypes.fits, dtypes.in_range, len,
        min, max, abs, sum, tuple, sorted,
    )
}  # fmt: skip
_GLOBALS: dict[str, Any] = {"__builtins__": {}, "inf": math.inf, **dtypes.CLASSES, **FUNCTIONS}


def compile_expression(source: str, where: str) -> Expr:
    """Compile text that the rule grammar accepted as an expression.

    Raises SyntaxError (Python's) where it is none all the same, such as `*x` outside a list.
    """
    tree = ast.parse(source.strip(), where or "<rule>", "eval")
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    code = compile(tree, where or "<rule>", "eval")

    def run(env: Env) -> Any:
        return eval(code, _GLOBALS, env)

    return Expr(source, run, frozenset(names), where)


def is_global(name: str) -> bool:
    """Whether a name means something in every expression: a function or a dtype class."""
    return name in _GLOBALS
