"""Values in Python state, and in objects that a function makes."""

from __future__ import annotations

from random import Random
from typing import Any

from ...ir.program import State
from ...ir.types import ScalarType
from ..numbers import Numbers
from .places import free_values, next_to, same


def keep_in_state(numbers: Numbers, rng: Random) -> None:
    """A value is put into Python state; mostly what uses it gets it from there."""
    b, f = numbers.b, numbers.f
    node = rng.choice(free_values(f))
    kind, initial, write, read = rng.choice(_PLACES)
    state = f.read(b.add_state(State(b.fresh_name("s"), kind, initial)).name)
    place = next_to(f, node)
    op, *key = write
    first = f.op(op, (state, *key, node), before=place)
    if rng.random() < 0.3:
        if kind in ("list", "dict"):
            f.op("state.len", (state,), before=place, type=ScalarType("int"))
        return
    op, *key = read
    last = f.op(op, (state, *key), before=place, type=same(node))
    f.replace_uses(node, last, keep=[first])


# Kind and content of a state, how a value gets into it, and out again.
_PLACES: tuple[tuple[str, Any, tuple[Any, ...], tuple[Any, ...]], ...] = (
    ("list", [], ("state.append",), ("state.pop",)),
    ("list", [], ("state.append",), ("state.getitem", -1)),
    ("list", [1, 2], ("state.setitem", 0), ("state.getitem", 0)),
    ("dict", {}, ("state.setitem", "k"), ("state.getitem", "k")),
    ("dict", {"k": 0}, ("state.setitem", "k"), ("state.pop", "k")),
    ("object", {"n": 0}, ("state.setattr", "n"), ("state.getattr", "n")),
    ("object", {}, ("state.setattr", "n"), ("state.getattr", "n")),
    ("class", {"n": 0}, ("state.setattr", "n"), ("state.getattr", "n")),
    ("global", None, ("state.assign",), ("state.read",)),
    ("global", 1, ("state.assign",), ("state.read",)),
)


def keep_in_object(numbers: Numbers, rng: Random) -> None:
    """A value becomes the attribute of an object that the function makes."""
    f = numbers.f
    node = rng.choice(free_values(f))
    place = next_to(f, node)
    made = f.op("state.object", (), {"n": node}, before=place)
    if rng.random() < 0.4:
        f.op("state.setattr", (made, "m", node), before=place)
    last = f.op("state.getattr", (made, "n"), before=place, type=same(node))
    f.replace_uses(node, last, keep=[n for n in made.users if n is not last] + [made])
