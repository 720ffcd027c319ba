"""Value distributions of inputs: which kinds there are and what they take.

The tensors are made by rendered source (`render`), with a generator of its own per input, so that a seed gives equal
values in every process.
"""

from __future__ import annotations

from dataclasses import dataclass

from .types import DTYPES


@dataclass(frozen=True)
class Values:
    """A distribution: `kind` of VALUE_KINDS, its parameters, and the seed of the input's own generator."""

    kind: str = "normal"
    params: tuple[int | float | bool, ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class ValueKind:
    """`defaults` are the parameters left out; `kinds` the dtype kinds it makes sense for."""

    name: str
    parameters: tuple[str, ...]
    defaults: tuple[int | float, ...]
    kinds: frozenset[str]
    meaning: str


_ALL = frozenset({"bool", "int", "float", "complex"})
_NUMBER = frozenset({"int", "float", "complex"})
_FLOAT = frozenset({"float", "complex"})

VALUE_KINDS: dict[str, ValueKind] = {
    k.name: k
    for k in (
        ValueKind("normal", ("mean", "std"), (0.0, 1.0), _FLOAT, "Gaussian"),
        ValueKind("uniform", ("low", "high"), (0.0, 1.0), _FLOAT, "uniform in [low, high)"),
        ValueKind("ints", ("low", "high"), (-8, 8), _NUMBER, "whole numbers in [low, high], clipped to the dtype"),
        ValueKind("index", ("n",), (1,), frozenset({"int"}), "whole numbers in [0, n)"),
        ValueKind("permutation", (), (), frozenset({"int"}), "0..numel-1, shuffled"),
        ValueKind("bools", ("share",), (0.5,), _ALL, "ones with this probability, else zeros"),
        ValueKind("arange", ("start", "step"), (0, 1), _NUMBER, "start, start + step, ..."),
        ValueKind("full", ("value",), (0,), _ALL, "one value everywhere"),
        ValueKind("ties", ("count",), (3,), _NUMBER, "few distinct values, so that sorts and extrema meet ties"),
        ValueKind("edge", ("share",), (0.5,), _ALL,
                  "this share of elements from the dtype's edge values (0, -0.0, +-1, inf, nan, denormals, extremes), "
                  "the rest ordinary"),
        ValueKind("data", ("...",), (), _ALL, "these elements, repeated to fill the storage"),
    )
}  # fmt: skip

INTEGER_RANGE: dict[str, tuple[int, int]] = {
    d.name: (0, 2**d.bits - 1) if not d.signed else (-(2 ** (d.bits - 1)), 2 ** (d.bits - 1) - 1)
    for d in DTYPES.values()
    if d.kind == "int"
}


def default_kind(dtype: str) -> str:
    """The distribution of an input whose text names none."""
    return {"bool": "bools", "int": "ints"}.get(DTYPES[dtype].kind, "normal")


def problem(values: Values, dtype: str) -> str | None:
    """Why these values cannot fill a tensor of this dtype, or None."""
    kind = VALUE_KINDS.get(values.kind)
    if kind is None:
        return f"unknown value distribution {values.kind!r}; known: {', '.join(VALUE_KINDS)}"
    if DTYPES[dtype].kind not in kind.kinds:
        return f"values {values.kind!r} do not fit dtype {dtype}"
    if values.kind == "data":
        return None if values.params else "values data needs at least one element"
    if len(values.params) > len(kind.parameters):
        return f"values {values.kind!r} takes at most {len(kind.parameters)} parameters {kind.parameters}"
    if values.kind == "index" and values.params and values.params[0] < 1:
        return "values index needs n of at least 1"
    return None
