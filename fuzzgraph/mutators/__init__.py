"""Mutators: program to program. Each file in this folder defines one class.

A mutator is found by presence: the class that `@mutator` decorates. Files whose name starts with `_`, and `tools.py`,
are helpers. See `swap_operands.py` for a small one.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, Protocol

from ..errors import FuzzgraphError
from ..ir.program import Program
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
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError("not a Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except Exception as e:
        raise FuzzgraphError(f"does not import: {type(e).__name__}: {e}", where=str(path)) from e
    classes = [c for c in vars(module).values() if isinstance(c, type) and vars(c).get("_is_mutator")]
    if len(classes) != 1:
        raise FuzzgraphError(f"defines {len(classes)} mutators, expected one class with @mutator", where=str(path))
    made: Mutator = classes[0]()
    return made
