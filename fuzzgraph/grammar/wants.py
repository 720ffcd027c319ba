"""What sampling asks of an operand: dtypes, a shape pattern, a value domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from ..ir.types import DTYPES, TensorType
from ..ir.values import Values
from .dtypes import CLASSES, DTypes

# Sizes just past a vector width (16, 32) and past none; 0 is drawn apart, rarely.
SIZES = (1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 16, 17, 33)
ZERO_SHARE = 0.03
MAX_ELEMENTS = 20_000


@dataclass(frozen=True)
class ValueDomain:
    """What an operand's elements must be for the operator not to raise. `kind` is one of DOMAINS."""

    kind: str
    low: float | None = None
    high: float | None = None

    def draw(self, dtype: str, rng: Random) -> Values:
        """A value distribution for an input of this dtype whose elements all lie in the domain."""
        return DOMAINS[self.kind](self, dtype, rng.getrandbits(16))


def _index(domain: ValueDomain, dtype: str, seed: int) -> Values:
    top = int(domain.low or 0)
    return Values("index", (max(top, 1),), seed) if DTYPES[dtype].kind == "int" else Values("bools", (), seed)


def _between(domain: ValueDomain, dtype: str, seed: int) -> Values:
    low, high = domain.low or 0.0, 1.0 if domain.high is None else domain.high
    kind = DTYPES[dtype].kind
    if kind == "bool":
        return Values("full", (1,), seed) if low > 0 else Values("bools", (), seed)
    if kind == "int":
        return Values("ints", (int(low), int(high)), seed)
    return Values("uniform", (low, high), seed)


def _nonzero(domain: ValueDomain, dtype: str, seed: int) -> Values:
    kind = DTYPES[dtype].kind
    if kind in ("float", "complex"):
        return Values("normal", (), seed)
    return Values("full", (1,), seed) if kind == "bool" else Values("ints", (1, 9), seed)


def _sorted(domain: ValueDomain, dtype: str, seed: int) -> Values:
    return Values("arange", (-2, 1) if dtype != "u8" else (0, 1), seed)


# index(n): whole numbers in [0, n). unique: an index without repeats. between(low, high). nonzero: integers other
# than 0 (a divisor; floats are free). sorted: not descending along the last dim.
DOMAINS: dict[str, Callable[[ValueDomain, str, int], Values]] = {
    "index": _index,
    "unique": lambda domain, dtype, seed: Values("permutation", (), seed),
    "between": _between,
    "nonzero": _nonzero,
    "sorted": _sorted,
}


@dataclass(frozen=True)
class ShapeWant:
    """A shape: sizes before and after a run of `ranks` further dims; None is a free size.

    `broadcast` limits the run to what broadcasts with that shape, and with `into` set to what broadcasts to
    exactly that shape.
    """

    head: tuple[int | None, ...] = ()
    ranks: tuple[int, int] | None = None
    tail: tuple[int | None, ...] = ()
    broadcast: tuple[int, ...] | None = None
    into: bool = False

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether a shape is as wanted."""
        fixed = len(self.head) + len(self.tail)
        low, high = self.ranks or (0, 0)
        if not low <= len(shape) - fixed <= high:
            return False
        ends = (*self.head, *self.tail)
        given = shape[: len(self.head)] + shape[len(shape) - len(self.tail) :]
        if any(want is not None and want != size for want, size in zip(ends, given, strict=True)):
            return False
        middle = shape[len(self.head) : len(shape) - len(self.tail)]
        return self.broadcast is None or self._broadcasts(middle, self.broadcast)

    def _broadcasts(self, middle: tuple[int, ...], base: tuple[int, ...]) -> bool:
        if self.into and len(middle) > len(base):
            return False
        pairs = zip(reversed(middle), reversed(base), strict=False)
        return all(a == b or a == 1 or (b == 1 and not self.into) for a, b in pairs)

    def draw(self, rng: Random) -> tuple[int, ...]:
        """A shape that fits."""
        middle = self._draw_middle(rng)
        budget = MAX_ELEMENTS
        sizes: list[int] = []
        for want in (*self.head, *middle, *self.tail):
            size = draw_size(rng) if want is None else want
            while want is None and size > 1 and size > budget:
                size //= 2
            budget //= max(size, 1)
            sizes.append(size)
        return tuple(sizes)

    def _draw_middle(self, rng: Random) -> tuple[int | None, ...]:
        if self.ranks is None:
            return ()
        low, high = self.ranks
        if self.broadcast is None:
            return (None,) * rng.choice([r for r in (0, 1, 1, 2, 2, 2, 3, 3, 4) if low <= r <= high] or [low])
        return self._draw_broadcast(self.broadcast, low, high, rng)

    def _draw_broadcast(self, base: tuple[int, ...], low: int, high: int, rng: Random) -> tuple[int | None, ...]:
        sizes: list[int | None] = list(base)
        if not self.into:
            sizes = [None if n == 1 and rng.random() < 0.5 else n for n in sizes]
        if rng.random() < 0.4:
            sizes = [1 if rng.random() < 0.5 else n for n in sizes]
            sizes = sizes[rng.randrange(len(sizes) + 1) :]
        sizes = sizes[max(len(sizes) - high, 0) :]
        return (*((1,) * (low - len(sizes))), *sizes)


def draw_size(rng: Random) -> int:
    return 0 if rng.random() < ZERO_SHARE else rng.choice(SIZES)


def _accept_all(found: TensorType) -> str | None:
    return None


@dataclass(frozen=True)
class Want:
    """What an operand must be.

    `dtypes` are those that may fit, `accept` has the last word (a reason, or None where the type is fine).
    `mutable`: the operator writes it. `values`: what its elements must be, None for anything.
    """

    dtypes: frozenset[str] = DTypes(CLASSES["any"])
    shape: ShapeWant = ShapeWant(ranks=(0, 5))
    values: ValueDomain | None = None
    mutable: bool = False
    accept: Callable[[TensorType], str | None] = _accept_all

    def problem(self, found: TensorType) -> str | None:
        """Why a type does not fit, or None."""
        if found.dtype not in self.dtypes:
            return f"dtype {found.dtype} is not one of {', '.join(sorted(self.dtypes))}"
        if not self.shape.fits(found.shape):
            return f"shape {list(found.shape)} does not fit"
        if self.mutable and found.has_overlap:
            return "a written operand has overlapping elements"
        return self.accept(found)
