"""Reducers: program to simpler programs. Each file in `reducers/` defines one class; `minimizer.minimize` runs them.

A reducer is found by presence: the class that `@reducer` decorates. See `reducers/simplify_config.py` for a small one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..presence import marked
from . import reducers

if TYPE_CHECKING:
    from ..ir.program import Program
    from ..mutators.tools import Tools
    from ._reduction import Reduction

__all__ = ["Change", "Reducer", "load", "reducer"]


@dataclass(frozen=True)
class Change:
    """One simplification of one program.

    `place` is what it simplifies, `how` says it for people: "x + 1 by x". Changes of one place are alternatives, the
    better one first; changes of different places may be made together, those that say `joint` are tried so first.
    `apply` changes the reduction or raises Rejected. Place and how name it: two changes with both equal are one.
    """

    place: str
    how: str
    apply: Callable[[Reduction], None]
    joint: bool = False


class Reducer(Protocol):
    """What a reducer's file supplies. Those of a lower `order` come first: the coarse ones."""

    name: str
    order: int

    def changes(self, program: Program, tools: Tools) -> list[Change]:
        """All that could be simplified here. Each leads to a program that this reducer would not lead back from.

        Deterministic, and never modifies `program`. What comes of a change may be no valid program: then it is not
        tried. An empty list: nothing is left to do.
        """
        ...


def reducer(name: str, order: int) -> Callable[[type[Any]], type[Any]]:
    """Mark a class as the reducer of its file."""

    def mark(cls: type[Any]) -> type[Any]:
        cls.name, cls.order, cls._is_reducer = name, order, True
        return cls

    return mark


def load() -> list[Reducer]:
    """The shipped reducers and those of plug-ins, in the order in which they run.

    Raises FuzzgraphError with the path of a file that is broken, or has no reducer, or one whose name is taken.
    """
    found: dict[str, Reducer] = marked(reducers.__name__, "reducer")
    return sorted(found.values(), key=lambda r: (r.order, r.name))
