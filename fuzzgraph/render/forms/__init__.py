"""Forms: Python constructs around a region of a function. Each file in this folder defines one class.

A form is found by presence: the class that `@form` decorates. See `no_grad.py` for a small one.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Protocol

from ...errors import FuzzgraphError
from ...ir.types import TensorType
from ...presence import class_in


@dataclass(frozen=True)
class Block:
    """A region to be written: its statements and what crosses its border.

    `reads` are names from outside that the statements use, `results` names made inside that are used behind the
    region, `rebinds` names from outside that a statement binds anew (`x += 1`), `globals` those at module level
    that are bound anew. `fresh(stem)` makes an unused name. `tensors` are those of `reads` that are tensors, typed.
    """

    lines: tuple[str, ...]
    args: tuple[Any, ...]
    reads: tuple[str, ...]
    results: tuple[str, ...]
    rebinds: tuple[str, ...]
    globals: tuple[str, ...]
    fresh: Callable[[str], str]
    tensors: tuple[tuple[str, TensorType], ...] = ()

    @property
    def params(self) -> list[str]:
        """Names from outside that may be handed to a function under their own name."""
        return [r for r in self.reads if r.isidentifier() and r not in self.globals and r not in self.rebinds]

    @property
    def returned(self) -> str:
        return ", ".join(self.results)

    def body(self, end: str = "return", first: Iterable[str] = ()) -> list[str]:
        """The statements as a function's body: it declares what it binds outside, does `first`, and ends with the
        results, unless `end` is empty."""
        declared = [f"global {g}" for g in self.globals] + [f"nonlocal {r}" for r in self.rebinds]
        return [*declared, *first, *self.lines, *([f"{end} {self.returned}"] if self.results and end else [])]

    def bind(self, value: str) -> str:
        """A statement that binds the results to `value`, an expression that gives them as `body` does."""
        return f"{self.returned} = {value}" if self.results else value


class Plain:
    """A form without arguments; a form file derives its class from it."""

    weight = 1.0

    def problem(self, args: tuple[Any, ...]) -> str | None:
        return "takes no arguments" if args else None

    def sample(self, rng: Random) -> tuple[Any, ...]:
        return ()


class Form(Protocol):
    """What a form file supplies. `name` is what programs say, `weight` how often generators choose it."""

    name: str
    weight: float

    def problem(self, args: tuple[Any, ...]) -> str | None:
        """Why the form does not take these arguments, or None."""
        ...

    def sample(self, rng: Random) -> tuple[Any, ...]:
        """Arguments that `problem` accepts; equal rng states give equal arguments."""
        ...

    def write(self, block: Block) -> list[str]:
        """The lines of the construct; behind them all of `block.results` are bound as if it were not there."""
        ...


def form(cls: type[Any]) -> type[Any]:
    """Mark a class as the form of its file."""
    cls._is_form = True
    return cls


def indented(lines: Iterable[str]) -> list[str]:
    """The lines one level deeper; lines inside a multi-line literal move too, which changes no value of ours."""
    return [f"    {line}" if line else "" for line in lines]


def load_forms(extra: Iterable[Path] = ()) -> dict[str, Form]:
    """The shipped forms and those of the `extra` folders, by name. Raises FuzzgraphError naming a broken file."""
    return _load(tuple(Path(p) for p in extra))


@functools.cache
def _load(extra: tuple[Path, ...]) -> dict[str, Form]:
    found: dict[str, Form] = {}
    for folder in (Path(__file__).parent, *extra):
        for info in sorted(pkgutil.iter_modules([str(folder)]), key=lambda i: i.name):
            made = _form_of(folder / f"{info.name}.py", shipped=folder == Path(__file__).parent)
            if made.name in found:
                raise FuzzgraphError(f"a second form {made.name!r}", where=str(folder / f"{info.name}.py"))
            found[made.name] = made
    return found


def _form_of(path: Path, shipped: bool) -> Form:
    name = f"{__name__}.{path.stem}" if shipped else f"fuzzgraph_form_{path.stem}"
    made: Form = class_in(path, name, "form")()
    return made
