"""Mutators: program to program. Each file in this folder defines one class.

A mutator is found by presence: the class that `@mutator` decorates. Files whose name starts with `_`, and `tools.py`,
are helpers. See `swap_operands.py` for a small one.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from ..ir.program import Program
from ..presence import marked
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


def load() -> list[Mutator]:
    """The shipped mutators and those of plug-ins, in the order of their names. Raises FuzzgraphError with the path of a
    file that is broken, or has no mutator, or one whose name is taken."""
    found: dict[str, Mutator] = marked(__name__, "mutator", _HELPERS)
    return [found[name] for name in sorted(found)]
