"""Python structure: types and containers of outputs; side effects on lists, dicts, objects, globals and module state.

It compares containers, attributes of what the program's own classes make, the types of leaves, and plain values by
`==`. It cannot judge other objects without an `__eq__` of their own (each run makes new ones) nor what iterators have
left, and leaves numbers and tensors to the oracles that compare them.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from ._failure import Failure
from ._snapshot import Key, show, skipped, table
from ._taint import taint
from ._types import DEEPEST, Run, Tools, parts

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program

# Numbers are the value oracle's; the others are compared by type only, since two of them are never equal.
_NOT_BY_VALUE = (
    bool, int, float, complex, torch.Tensor, types.GeneratorType, types.FunctionType, types.MethodType,
    types.BuiltinFunctionType, types.ModuleType, type,
)  # fmt: skip
# Compared by identity; every other object without an __eq__ of its own is made anew in each run.
_SINGLETONS = (torch.dtype, torch.layout, torch.memory_format)


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """Values of Python objects that are tainted are left out; their types are compared all the same."""
    found = taint(program, book)
    return {"outputs": found.outputs, "inputs": found.inputs, "states": found.states}


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure per kind (structure, python): the first place that shows it."""
    if subject.error is not None:
        return []
    found: dict[str, Failure] = {}
    for failure in _differences(plan, reference, subject):
        found.setdefault(failure.kind, failure)
    return list(found.values())


def _differences(plan: dict[str, Any], reference: Run, subject: Run) -> Iterator[Failure]:
    both = enumerate(zip(reference.results, subject.results))
    places: list[tuple[Key, Any, Any]] = [(("output", i), a, b) for i, (a, b) in both]
    if len(reference.results) != len(subject.results):
        yield _failure("structure", "number of results", f"{len(reference.results)} and {len(subject.results)}")
    if reference.states is not None or subject.states is not None:
        places.append((("state",), reference.states, subject.states))
    for key, a, b in places:
        yield from _structure(key, a, b)
    theirs = table(subject)
    for key, expected in table(reference).items():
        if key in theirs and type(expected) is type(theirs[key]) and not skipped(key, plan):
            yield from _plain(key, expected, theirs[key])


def _structure(key: tuple[Any, ...], a: Any, b: Any) -> Iterator[Failure]:
    """Types of containers and leaves, all the way down."""
    if type(a) is not type(b):
        # A tensor subclass or a named tuple counts; the classes that a program defines are made anew in each run.
        if type(a).__qualname__ == type(b).__qualname__ and type(a).__module__ == type(b).__module__:
            yield from _children(key, a, b)
            return
        yield _failure("structure", f"{type(a).__name__} became {type(b).__name__}", show(key))
        return
    yield from _children(key, a, b)


def _children(key: tuple[Any, ...], a: Any, b: Any) -> Iterator[Failure]:
    mine, theirs = parts(a), parts(b)
    if mine is None or theirs is None or isinstance(a, torch.Tensor) or len(key) > DEEPEST:
        return
    names, others = [name for name, _ in mine], [name for name, _ in theirs]
    if isinstance(a, list | tuple) and len(mine) != len(theirs):
        detail = f"{show(key)}: eager {len(mine)}, compiled {len(theirs)}"
        yield _failure("structure", "another number of items", detail)
    elif names != others:
        what = "keys" if isinstance(a, dict) else "items" if isinstance(a, Iterable) else "attributes"
        yield _failure("structure", f"other {what} or another order of {what}", f"{show(key)}: {names}, {others}")
    found = dict(theirs)
    for name, item in mine:
        if name in found:
            yield from _structure((*key, name), item, found[name])


def _plain(key: tuple[Any, ...], a: Any, b: Any) -> Iterator[Failure]:
    """Python values by ==; numbers are the value oracle's."""
    if isinstance(a, _NOT_BY_VALUE):
        return
    try:
        equal = bool(a == b)
    except Exception as e:  # of a program's own __eq__, or of a tensor of many elements somewhere inside
        if _equals_itself(a):
            yield _failure("python", f"comparison raises {type(e).__name__}", show(key))
        return
    if not equal and (isinstance(a, _SINGLETONS) or type(a).__eq__ is not object.__eq__):
        yield _failure("python", f"another {type(a).__name__}", f"{show(key)}: eager {a!r:.200}, compiled {b!r:.200}")


def _equals_itself(value: Any) -> bool:
    try:
        return bool(value == value)
    except Exception:  # then it says nothing about others
        return False


def _failure(kind: str, message: str, detail: str) -> Failure:
    return Failure("structure", kind, "run", message, detail)
