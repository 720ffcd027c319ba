"""Forms: Python constructs around a region of a function. Each file in this folder defines one class.

A form is found by presence: the class that `@form` decorates. See `no_grad.py` for a small one. A form that is not
fine around every region has a method `fits(facts) -> bool`, which generators and mutators ask; whoever writes a
program by hand may put any form around anything, and eager says what it is worth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import torch

from ...errors import ProgramError
from ...ir.program import Program
from ...ir.types import TensorType, Type
from ...presence import marked


@dataclass(frozen=True)
class Facts:
    """What a form may ask about a region before it is put around it.

    `reads` are the types of the values from outside that the region uses, `results` of those made inside that are used
    behind it. `tags` and `families` are those of the rules of its calls. A value stands for the memory it lies in where
    `writes`, `disturbed`, `rewritten` and `shared` speak of it; they err on the side of caution.
    """

    reads: tuple[Type, ...] = ()
    results: tuple[Type, ...] = ()
    tags: frozenset[str] = frozenset()
    families: frozenset[str] = frozenset()
    effects: frozenset[str] = frozenset()  # built-in operators: calls of Python state, and those that are opaque
    writes: bool = False  # a call writes a value from outside
    disturbed: bool = False  # a call elsewhere in the function writes a value that the region reads
    rewritten: bool = False  # a call behind the region writes a result
    shared: bool = False  # a result lies in the memory of another one, or of a value from outside
    grad: bool = False  # an input of the program requires grad

    @property
    def functional(self) -> bool:
        """Whether running the region twice, or not at all, shows in nothing but its results."""
        return not (self.effects or self.writes or "random" in self.tags)

    @property
    def movable(self) -> bool:
        """Whether the statements may stand in a function elsewhere: they bind no name of the outer one."""
        return not self.effects & {"state.assign", "python"}

    @property
    def repeatable(self) -> bool:
        """Whether the region gives the same results when it is run again later."""
        return self.functional and not self.disturbed and not self.rewritten and "uninitialized" not in self.tags

    @property
    def tensors(self) -> tuple[TensorType, ...]:
        """Types of the results if all are tensors and there are any; else none."""
        found = tuple(t for t in self.results if isinstance(t, TensorType))
        return found if len(found) == len(self.results) else ()

    @property
    def pointwise(self) -> bool:
        """Whether all calls compute element by element and give new values: what every transform can do."""
        if self.tags & {"inplace", "random", "uninitialized"}:
            return False
        return bool(self.families) and self.families <= {"unary", "binary", "ternary", "activation", "cast"}

    @property
    def separate(self) -> bool:
        """Whether the results are dense tensors, each in new memory: what operators that take functions give back."""
        return bool(self.tensors) and not self.shared and all(t.is_contiguous for t in self.tensors)

    @property
    def read_tensors(self) -> tuple[TensorType, ...]:
        """Types of the tensors from outside."""
        return tuple(t for t in self.reads if isinstance(t, TensorType))


def no_definitions(lines: Iterable[str]) -> None:
    raise NotImplementedError("nothing stands at module level here")


@dataclass(frozen=True)
class Block:
    """A region to be written: its statements and what crosses its border.

    `reads` are names from outside that the statements use, `results` names made inside that are used behind the
    region, `rebinds` names from outside that a statement binds anew (`x += 1`), `globals` those at module level
    that are bound anew. `fresh(stem)` makes an unused name. `tensors` are those of `reads` that are tensors, typed;
    `kinds` are the types of `results`. `define(lines)` puts a definition at module level, before all functions.
    """

    lines: tuple[str, ...]
    args: tuple[Any, ...]
    reads: tuple[str, ...]
    results: tuple[str, ...]
    rebinds: tuple[str, ...]
    globals: tuple[str, ...]
    fresh: Callable[[str], str]
    tensors: tuple[tuple[str, TensorType], ...] = ()
    kinds: tuple[Type, ...] = ()
    define: Callable[[Iterable[str]], None] = no_definitions

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

    def inner(self, name: str, params: str = "", first: Iterable[str] = ()) -> list[str]:
        """The region as a function of that name inside the outer one, which returns the results."""
        return [f"def {name}({params}):", *indented(self.body(first=first))]

    @property
    def given(self) -> list[str]:
        """Names from outside that a function which stands elsewhere takes as parameters."""
        return [r for r in self.reads if r.isidentifier() and r not in self.globals]

    @property
    def first(self) -> str:
        """Name of the first tensor from outside that a function may take as its parameter; empty without one."""
        return next((name for name, _ in self.tensors if name in self.params), "")

    @property
    def copies(self) -> str:
        """The results, each copied to new memory: operators that take functions insist on it."""
        return ", ".join(f"torch.clone({r}, memory_format=torch.contiguous_format)" for r in self.results)

    @property
    def group(self) -> str:
        """The results as one operand or one target: bare, or in parentheses."""
        return self.returned if len(self.results) == 1 else f"({self.returned})"

    def detached(self, end: str = "return") -> list[str]:
        """The statements as the body of a function that stands elsewhere and takes `given`.

        Raises ProgramError where they bind a name from outside to another value: that would not be seen outside.
        """
        lost = set(self.rebinds) - {name for name, _ in self.tensors}
        if lost:
            raise ProgramError(f"{min(lost)} is bound anew in a form that puts the region elsewhere")
        declared = [f"global {g}" for g in self.globals]
        return [*declared, *self.lines, *([f"{end} {self.returned}".rstrip()] if end else [])]

    def while_compiling(self, compiled: Iterable[str], eager: str) -> list[str]:
        """Bind the results by the lines `compiled` where the compiler reads them, by the plain expression `eager` where
        Python runs it: there, operators that take functions would compile by themselves."""
        otherwise = ["else:", *indented([self.bind(eager)])]
        return ["if torch.compiler.is_compiling():", *indented(compiled), *otherwise]

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


class Choice:
    """A form with one argument, a key of `CHOICES`; a form file derives its class from it."""

    weight = 1.0
    CHOICES: Mapping[Any, Any] = {}

    def problem(self, args: tuple[Any, ...]) -> str | None:
        fine = len(args) == 1 and isinstance(args[0], Hashable) and args[0] in self.CHOICES
        return None if fine else f"takes one of {', '.join(map(str, self.CHOICES))}"

    def sample(self, rng: Random) -> tuple[Any, ...]:
        return (rng.choice(list(self.CHOICES)),)


class Autocasting(Choice):
    """A form with one argument, the dtype of an autocast, or None for one that is off; a form file derives its class
    from it."""

    CHOICES: Mapping[Any, Any] = {
        torch.bfloat16: "dtype=torch.bfloat16",
        torch.float16: "dtype=torch.float16",
        None: "enabled=False",
    }


class Form(Protocol):
    """What a form file supplies. `name` is what programs say, `weight` how often generators choose it. A form that runs
    its region where a condition holds, which it always does, says so by `conditional = True`; one that looks at what
    FakeTensors do not have, memory or a class of their own, by `concrete = True`; one whose effects may show in a
    further call only, by `again = True`."""

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


def fits(form: Form, facts: Facts) -> bool:
    """Whether a program with this form around a region like that runs in eager, and keeps the region's meaning."""
    ask = getattr(form, "fits", None)
    return ask is None or bool(ask(facts))


def written(form: Form, block: Block) -> list[str]:
    """The lines of a form around a region.

    Where its condition is compiled wrongly, results are a lone zero then, which shows. They are not left unbound, nor
    are they None: what raises while it is traced, or calls nothing of torch's, Dynamo runs in eager, and there the
    condition holds.
    """
    lines = form.write(block)
    if block.results and getattr(form, "conditional", False):
        return [f"{' = '.join(block.results)} = torch.zeros(())", *lines]
    return lines


def is_concrete(program: Program) -> bool:
    """Whether a form of the program needs real tensors."""
    known = load_forms()
    used = {r.form for f in program.functions for r in f.regions}
    return any(getattr(known[name], "concrete", False) for name in used & known.keys())


def form(cls: type[Any]) -> type[Any]:
    """Mark a class as the form of its file."""
    cls._is_form = True
    return cls


def indented(lines: Iterable[str]) -> list[str]:
    """The lines one level deeper; lines inside a multi-line literal move too, which changes no value of ours."""
    return [f"    {line}" if line else "" for line in lines]


def around(construct: Iterable[str], lines: Sequence[str], names: Mapping[str, str] | None = None) -> list[str]:
    """The lines of a construct with those of the region in place of each line `...`, as deep as it stands; words that
    `names` has are written as it says."""
    out: list[str] = []
    for line in construct:
        inside = list(lines)
        if line.strip() != "...":
            out.append(re.sub(r"\b[a-z]+\b", lambda word: (names or {}).get(word[0], word[0]), line))
            continue
        for _ in range((len(line) - len(line.lstrip())) // 4):
            inside = indented(inside)
        out += inside
    return out


def load_forms() -> dict[str, Form]:
    """The shipped forms and those of plug-ins, by name. Raises FuzzgraphError naming a broken file."""
    return marked(__name__, "form")
