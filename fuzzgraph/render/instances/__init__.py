"""Instances: what holds a function's captures, and what a call of it means. Each file here defines one class.

An instance is found by presence: the class that `@instance` decorates. A program names it where it makes a closure:
`closure m = f(w = w) as module("eval")`. See `closure.py` for the plainest one. An instance that generators may draw
for a helper function, which has no captures, has a method `offers(facts)`; who writes a program by hand may use any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ...errors import ProgramError
from ...ir.program import Closure, Function, Ref
from ...presence import marked
from ..forms import Facts

# In offered arguments, in place of the name of a function that gives the gradients, which the generator writes.
BACKWARD = Ref("backward")


@dataclass(frozen=True)
class Code:
    """A function to be written, once for all of its instances of one kind and with equal arguments.

    `name` is free at module level and what the instances are made of. `body(owner)` gives its statements, with the
    captures as attributes of `owner` where that is not empty. `outer` names the function in tracebacks and for people;
    `function_of(name)` is another function's Code, for arguments that name one.
    """

    function: Function
    name: str
    outer: str
    body: Callable[[str], list[str]]
    function_of: Callable[[str], Code]

    @property
    def params(self) -> list[str]:
        return [p.name for p in self.function.params]

    @property
    def captures(self) -> tuple[str, ...]:
        return self.function.captures

    def head(self, name: str, *before: str) -> str:
        """The first line of a function of that name with the parameters, behind some of the kind's own."""
        return f"def {name}({', '.join([*before, *self.params])}):"


class Instance(Protocol):
    """What a file supplies. `name` is what programs say; `is_module`: instances are modules, with state and parameters
    of their own."""

    name: str
    is_module: bool

    def stem(self, function: Function, closure: str) -> str:
        """What `Code.name` is to be called: an unused name is made of it, unless the program has given it already."""
        ...

    def problem(self, args: tuple[Any, ...], functions: Mapping[str, Function], function: Function) -> str | None:
        """Why the kind does not take these arguments, or this function; None where it does."""
        ...

    def define(self, code: Code, args: tuple[Any, ...]) -> list[str]:
        """Definitions at module level, after which `code.name` exists."""
        ...

    def make(self, code: Code, args: tuple[Any, ...], captured: Mapping[str, tuple[Any, str]]) -> str:
        """An expression for one instance. `captured` gives each capture's value in the program and its expression."""
        ...


def instance(cls: type[Any]) -> type[Any]:
    """Mark a class as the instance of its file."""
    cls._is_instance = True
    return cls


def offers(kind: Instance, facts: Facts) -> list[tuple[Any, ...]]:
    """The arguments with which an instance may hold a function of a region's nodes; none where it may not at all."""
    found = getattr(kind, "offers", None)
    return [] if found is None else list(found(facts))


def load_instances() -> dict[str, Instance]:
    """The shipped instances and those of plug-ins, by name. Raises FuzzgraphError naming a broken file."""
    return marked(__name__, "instance")


def instance_of(closure: Closure, functions: Mapping[str, Function]) -> Instance:
    """The kind of a closure. Raises ProgramError for an unknown one, and for arguments that it does not take."""
    made = load_instances().get(closure.kind)
    where = f"closure {closure.name}"
    if made is None:
        raise ProgramError(
            f"unknown kind {closure.kind!r}", where=where, hint="one of " + ", ".join(sorted(load_instances()))
        )
    problem = made.problem(closure.args, functions, functions[closure.function])
    if problem:
        raise ProgramError(f"{closure.kind}: {problem}", where=where)
    return made
