"""Mutators: program to program. Each file in this folder defines one class.

A mutator is found by presence: the class that `@mutator` decorates. Files whose name starts with `_`, and `tools.py`,
are helpers. See `swap_operands.py` for a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, Protocol

from ..errors import FuzzgraphError
from ..ir.program import Program
from ..presence import class_in
from .tools import Tools

__all__ = ["Mutator", "Tools", "load", "mutator"]

_HELPERS = frozenset({"tools"})


class Mutator(Protocol):
    """What a mutator file supplies. `weight`: how often it is chosen before anything is known of it."""

    name: str
    weight: float

    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        """A verified variant, or None if nothing applies.

        Never modifies `program`; equal (program, rng state) gives an equal result.
        """
        ...


def mutator(name: str, weight: float = 1.0) -> Callable[[type[Any]], type[Any]]:
    """Mark a class as the mutator of its file."""

    def mark(cls: type[Any]) -> type[Any]:
        cls.name, cls.weight, cls._is_mutator = name, weight, True
        return cls

    return mark


def load(extra: Iterable[str | Path] = ()) -> list[Mutator]:
    """The shipped mutators and those of extra folders (their `mutators`, or `fuzzgraph/mutators`, where they have one).

    In the order of their names. Raises FuzzgraphError with the path of a file that is broken, or has no mutator, or
    one whose name is taken.
    """
    found: dict[str, Mutator] = {}
    home = Path(__file__).parent
    for folder in (home, *map(_folder, extra)):
        for path in sorted(folder.glob("*.py")):
            if path.stem.startswith("_") or path.stem in _HELPERS:
                continue
            made = _mutator_of(path, shipped=folder == home)
            if made.name in found:
                raise FuzzgraphError(f"a second mutator {made.name!r}", where=str(path))
            found[made.name] = made
    return [found[name] for name in sorted(found)]


def _folder(extra: str | Path) -> Path:
    for nested in ("mutators", "fuzzgraph/mutators"):
        if (Path(extra) / nested).is_dir():
            return Path(extra) / nested
    return Path(extra)


def _mutator_of(path: Path, shipped: bool) -> Mutator:
    name = f"{__name__}.{path.stem}" if shipped else f"fuzzgraph_mutator_{path.stem}"
    made: Mutator = class_in(path, name, "mutator")()
    return made
