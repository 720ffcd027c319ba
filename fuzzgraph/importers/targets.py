"""Which of the grammar's operators a recorded call is, found by identity, by name and by what Python's syntax calls."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import ProgramError
from ..grammar import RuleBook
from ..grammar.census import canonical, dotted
from ..grammar.rule import Rule
from ..grammar.spelling import places
from ..ir.builtins import resolve, torch_attribute
from ..ir.recorded import RecordedNode

# Python's own functions for its operators.
_OPERATOR = ("_operator.", "operator.")
_ATEN = "torch.ops."


@dataclass(frozen=True)
class Candidate:
    """A rule that a call may be of, and the spelling that it has there, where it says one."""

    rule: Rule
    spelling: str | None = None


class Targets:
    """Finds rules for recorded calls. Nothing here names an operator."""

    def __init__(self, book: RuleBook) -> None:
        self._by_object: dict[int, list[Rule]] = {}
        self._by_name: dict[tuple[str, bool], list[Rule]] = {}
        self._by_syntax: dict[tuple[str, int], list[Candidate]] = {}
        for op, rule in book.rules.items():
            try:
                self._by_object.setdefault(id(resolve(op)), []).append(rule)
            except ProgramError:  # this torch lacks it
                continue
            self._by_name.setdefault((canonical(op), _in_place(op)), []).append(rule)
            for spelling, template in rule.spellings.items():
                if template and (called := syntax_called(template)):
                    key = (called, places(template))
                    self._by_syntax.setdefault(key, []).append(Candidate(rule, spelling))

    def candidates(self, node: RecordedNode) -> list[Candidate]:
        """The rules that this call may be of, the likeliest first; arguments and types decide."""
        special = dunder(node)
        found: list[Candidate] = []
        if special:
            found += self._by_syntax.get((special, len(node.args) + len(node.kwargs)), [])
        if node.method:
            real: Any = getattr(torch.Tensor, node.target, None)
            names = [node.target]
        else:
            real = function_of(node.target)
            names = [dotted(_packet(node.target)) if node.target.startswith(_ATEN) else _short(node.target)]
        if special:
            names.append(special.strip("_"))
        if writes(node):
            names = [f"{name}_" for name in names]
        spelling = "method" if node.method else None
        found += [Candidate(rule, spelling) for rule in self._by_object.get(id(real), []) if real is not None]
        for name in names:
            rules = self._by_name.get((canonical(name), _in_place(name)), [])
            found += [Candidate(rule, spelling) for rule in rules]
        return list(dict.fromkeys(found))


def _in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _packet(target: str) -> str:
    """`aten.add` of `torch.ops.aten.add.Tensor`."""
    return ".".join(target.removeprefix(_ATEN).split(".")[:2])


def _short(target: str) -> str:
    """The public name, as far as a path tells: modules that begin with an underscore are torch's own business."""
    parts = target.removeprefix("torch.").split(".")
    return parts[-1] if any(part.startswith("_") for part in parts[:-1]) else ".".join(parts)


def function_of(target: str) -> Any:
    """The function of that path in the installed torch, or None."""
    head, _, rest = target.partition(".")
    return torch_attribute(rest) if head == "torch" else None


def dunder(node: RecordedNode) -> str | None:
    """The special method that a call comes down to: `__add__` for operator.add and Tensor.__add__."""
    if node.method:
        return node.target if re.fullmatch(r"__\w+__", node.target) else None
    if not node.target.startswith(_OPERATOR):
        return None
    name = node.target.partition(".")[2].strip("_")
    return f"__{name}__" if hasattr(Probe, f"__{name}__") else None


class Probe:
    """An operand that tells which of its special methods Python's syntax calls."""

    called = ""


def _special(name: str) -> Any:
    def method(self: Probe, *args: Any) -> Any:
        self.called = name
        return self

    return method


# What Python's data model lets a class define for its operators; reflected ones are for a plain left operand only.
for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
    "neg", "pos", "invert", "abs", "eq", "ne", "lt", "le", "gt", "ge", "getitem", "setitem", "iadd", "isub", "imul",
    "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor", "ilshift", "irshift",
):  # fmt: skip
    setattr(Probe, f"__{_name}__", _special(f"__{_name}__"))


def syntax_called(template: str) -> str:
    """The special method that a spelling's template calls on its operand, "" for none."""
    probe = Probe()
    operands: dict[str, Any] = {f"p{i}": 0 for i in range(places(template))}
    operands["p0"] = probe
    try:
        exec(re.sub(r"\{(\d+)\}", r"p\1", template), {}, operands)
    except Exception:  # a template that is more than an operator
        return ""
    return probe.called


# --- arguments

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def forms(rule: Rule, node: RecordedNode, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Arguments]:
    """The ways in which the arguments of a recorded call may be the rule's: as they stand, with numbers gathered in a
    tuple (`x.view(2, 3)`), by the parameters' names as Python or the dispatcher know them."""
    seen: list[Arguments] = []
    for form in _forms(rule, node, args, kwargs):
        if form not in seen:
            seen.append(form)
            yield form


def _forms(rule: Rule, node: RecordedNode, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Arguments]:
    yield args, kwargs
    rest = args[1:]
    if rest and all(isinstance(a, int) for a in rest):
        yield (args[0], tuple(rest)), kwargs
    for signature in signatures(node):
        bound = _bind(signature, args, kwargs)
        if bound is None:
            continue
        # As they were given; then without those that say what is so anyway, which a rule may know as left out only.
        for given in (bound, [(p, value) for p, value in bound if not _default(rule, p, value)]):
            if (placed := _place(rule, given)) is not None:
                yield placed


@dataclass(frozen=True)
class Parameter:
    name: str
    keyword_only: bool
    default: Any


NO_DEFAULT = object()
# Parameters of the dispatcher's operators that choose a GPU's library and mean nothing for the result.
_HINTS = ("cudnn",)
_IN_PLACE = "inplace"


def signatures(node: RecordedNode) -> Iterator[list[Parameter]]:
    """The signatures that a recorded call may have: the function's own, then those of the dispatcher's overloads."""
    function = None if node.method else function_of(node.target)
    schema = getattr(function, "_schema", None)
    if node.target.startswith(_ATEN) and schema is not None:
        yield _of_schema(schema)
        return
    if inspect.isfunction(function):
        yield [
            Parameter(p.name, p.kind == p.KEYWORD_ONLY, NO_DEFAULT if p.default is p.empty else p.default)
            for p in inspect.signature(function).parameters.values()
        ]
    name = node.target.rpartition(".")[2]
    if (special := dunder(node)) is not None:
        name = special
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        yield _of_schema(schema)


def _of_schema(schema: Any) -> list[Parameter]:
    return [
        Parameter(a.name, a.kwarg_only, a.default_value if a.has_default_value() else NO_DEFAULT)
        for a in schema.arguments
    ]


def _bind(
    signature: list[Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[Parameter, Any]] | None:
    """(parameter, value) of each argument, or None where it is a call of another signature."""
    positional = [p for p in signature if not p.keyword_only]
    if len(args) > len(positional):
        return None
    bound = list(zip(positional, args, strict=False))
    known = {p.name: p for p in signature}
    taken = {p.name for p, _ in bound}
    for name, value in kwargs.items():
        if name not in known or name in taken:
            return None
        bound.append((known[name], value))
    return bound


def _place(rule: Rule, bound: list[tuple[Parameter, Any]]) -> Arguments | None:
    """The arguments as the rule's parameters: by name, and those that have another name in order of what is left. One
    that the rule lacks may only be left out where it is the default."""
    given = {p.name: value for p, value in bound if p.name in rule.param}
    others = [(p, value) for p, value in bound if p.name not in rule.param and not _default(rule, p, value)]
    free = [p.name for p in rule.params if p.name not in given and not p.keyword_only]
    if len(others) > len(free):
        return None
    # Such as the dispatcher's `self`, which Python calls input.
    given.update(zip(free, (value for _, value in others)))
    args: list[Any] = []
    for p in rule.params:
        if p.keyword_only or p.name not in given:
            break
        args.append(given.pop(p.name))
    return tuple(args), given


def writes(node: RecordedNode) -> bool:
    """Whether the call asks by an argument for what operators in place do by their name."""
    bound = (_bind(signature, node.args, node.kwargs) for signature in signatures(node))
    return any(p.name == _IN_PLACE and value is True for found in bound if found is not None for p, value in found)


def _default(rule: Rule, parameter: Parameter, value: Any) -> bool:
    """Whether leaving the argument out says the same."""
    if parameter.name.startswith(_HINTS):
        return True
    if parameter.name == _IN_PLACE:
        return value is _in_place(rule.op)
    default = parameter.default
    if (default is None and any(value is plain for plain in (torch.strided, False))) or value == torch.device("cpu"):
        return True  # where and how a tensor lies when nothing is said
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return list(value) == list(default)
    return default is not NO_DEFAULT and type(value) is type(default) and bool(value == default)
