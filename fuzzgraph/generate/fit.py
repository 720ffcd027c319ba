"""Making an existing value fit a want: cast, broadcast, reshape, slice, clamp."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch.fx as fx

from ..grammar.wants import ValueDomain, Want
from ..ir.builder import FunctionBuilder
from ..ir.program import root_of, type_of
from ..ir.types import DTYPES, TensorType
from .adapt import Adapters
from .domains import Knowledge, interval
from .inputs import draw_dtype

# Shapes drawn from a want to find one that a value can take.
SHAPE_DRAWS = 4


class Fitter:
    """Adapts values of one function by adapter nodes; what it adds in vain has no users, for the caller to erase."""

    def __init__(
        self, adapters: Adapters, know: Knowledge, f: FunctionBuilder, may_write: Callable[[fx.Node], bool]
    ) -> None:
        self.adapters, self.know, self.f, self.may_write = adapters, know, f, may_write

    def fit(self, node: fx.Node, want: Want, rng: Random, before: fx.Node | None = None) -> fx.Node | None:
        """A value that fits, made from `node`; None where no adapter helps."""
        steps = Steps(self.adapters, self.f, rng, before)
        found: fx.Node | None = node
        for step in (self._shaped, self._cast, self._inside, self._writable):
            found = step(found, want, steps) if found is not None else None
        if found is None or want.problem(_rooted(found)) is not None:
            return None
        return found

    def _shaped(self, node: fx.Node, want: Want, steps: Steps) -> fx.Node | None:
        kind = _tensor(node)
        if want.shape.fits(kind.shape):
            return node
        for _ in range(SHAPE_DRAWS):
            shape = want.shape.draw(steps.rng)
            found = steps.to_shape(node, kind.shape, shape)
            if found is not None:
                return found
        return None

    def _cast(self, node: fx.Node, want: Want, steps: Steps) -> fx.Node | None:
        kind = _tensor(node)
        if kind.dtype in want.dtypes:
            return node
        allowed = [d for d in want.dtypes if castable(kind.dtype, d)]
        if not allowed:
            return None
        return steps.add("cast", x=node, dtype=DTYPES[draw_dtype(allowed, steps.rng)].torch_dtype)

    def _inside(self, node: fx.Node, want: Want, steps: Steps) -> fx.Node | None:
        if want.values is None or self.know.holds(want.values, node):
            return node
        return steps.into_domain(want.values, node)

    def _writable(self, node: fx.Node, want: Want, steps: Steps) -> fx.Node | None:
        if not want.mutable or (self.may_write(node) and not _tensor(node).has_overlap):
            return node
        copy = steps.add("copy", x=node)
        # A copy keeps strides, those of overlapping elements apart.
        return copy if copy is not None and self.may_write(copy) else None


class Steps:
    """Adapter calls at one place of a function."""

    def __init__(self, adapters: Adapters, f: FunctionBuilder, rng: Random, before: fx.Node | None) -> None:
        self.adapters, self.f, self.rng, self.before = adapters, f, rng, before

    def add(self, purpose: str, **values: Any) -> fx.Node | None:
        return self.adapters.apply(purpose, self.f, self.rng, self.before, **values)

    def to_shape(self, node: fx.Node, shape: tuple[int, ...], target: tuple[int, ...]) -> fx.Node | None:
        """The value with another shape: broadcast, or as many elements, or a slice of each dim."""
        if expands(shape, target):
            return self.add("expand", x=node, shape=target)
        if _product(shape) == _product(target):
            return self.add("reshape", x=node, shape=target)
        if len(shape) != len(target) or any(n < m for n, m in zip(shape, target, strict=True)):
            return None
        found: fx.Node | None = node
        for dim, (size, length) in enumerate(zip(shape, target, strict=True)):
            if found is not None and size != length:
                start = self.rng.choice((0, size - length))
                found = self.add("narrow", x=found, dim=dim, start=start, length=length)
        return found

    def into_domain(self, domain: ValueDomain, node: fx.Node) -> fx.Node | None:
        """The value with its elements moved into a domain."""
        values: dict[str, Any] = {}
        if domain.kind == "index":
            n = int(domain.low or 0)
            if n < 1 or _tensor(node).info.kind != "int":
                return None
            values = {"n": n, "top": n - 1}
        elif domain.kind == "between":
            if _tensor(node).info.kind != "int":
                # A clamp keeps NaN, which no interval holds.
                return None
            low, high = interval(domain)
            values = {"low": int(low), "high": int(high)}
        elif domain.kind == "unique" and _tensor(node).rank != 1:
            return None
        return self.add(domain.kind, x=node, **values)


def castable(source: str, target: str) -> bool:
    """Whether a cast is fine for any value: no float to an integer (NaN and what is out of range are undefined)."""
    have, want = DTYPES[source].kind, DTYPES[target].kind
    if have == "complex":
        return want == "complex"
    return want != "int" or have in ("int", "bool")


def expands(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to exactly the target."""
    return len(shape) <= len(target) and all(
        a in (1, b) for a, b in zip(reversed(shape), reversed(target), strict=False)
    )


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


def _tensor(node: fx.Node) -> TensorType:
    kind = type_of(node)
    assert isinstance(kind, TensorType)
    return kind


def _rooted(node: fx.Node) -> TensorType:
    return _tensor(node).with_(alias=root_of(node))
