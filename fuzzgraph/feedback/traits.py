"""Traits: what a program has by its text, whatever the compiler does with it: dtypes, layouts, writes, forms, options.

Names come from the registries wherever there is one, so that a new dtype, form, context or option is a trait from the
day it is there, although no program has it yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import torch.fx as fx

from ..grammar.rule import Rule, RuleBook
from ..ir.builtins import BUILTINS
from ..ir.program import CONTEXTS, Function, Program, Ref, RunOptions, op_of, type_of
from ..ir.types import DTYPES, SequenceType, TensorType, Type, contiguous_strides
from ..ir.values import VALUE_KINDS
from ..render.forms import Form

# Verbatim source, which nothing here makes: importers and models do.
FOREIGN = ("python",)
# Where a rule has a parameter for the result.
OUT = "out"


def _is_packed(t: TensorType, order: Sequence[int]) -> bool:
    """Whether the dims lie densely in this order, outermost first, and not in row-major order."""
    dense = contiguous_strides(tuple(t.shape[d] for d in order))
    return not t.is_contiguous and all(t.shape[d] == 1 or t.stride[d] == s for d, s in zip(order, dense))


def _channels_last(t: TensorType, rank: int) -> bool:
    return t.rank == rank and _is_packed(t, (0, *range(2, rank), 1))


def _permuted(t: TensorType) -> bool:
    return _is_packed(t, sorted(range(t.rank), key=lambda d: (-t.stride[d], d)))


def _transposed(t: TensorType) -> bool:
    return t.rank > 1 and _is_packed(t, (*range(t.rank - 2), t.rank - 1, t.rank - 2))


def _expanded(t: TensorType) -> bool:
    return any(s == 0 and n > 1 for n, s in zip(t.shape, t.stride))


def _gaps(t: TensorType) -> bool:
    return t.numel > 0 and t.extent - t.offset > t.numel


def _stray(t: TensorType) -> bool:
    return t.is_contiguous and t.numel > 0 and t.stride != contiguous_strides(t.shape)


# Of inputs and constants; a tensor may have several.
LAYOUTS: Mapping[str, Callable[[TensorType], bool]] = {
    "0-d": lambda t: t.rank == 0,
    "zero-size": lambda t: t.numel == 0,
    "size 1": lambda t: 1 in t.shape,
    "contiguous": lambda t: t.rank > 0 and t.numel > 0 and t.is_contiguous,
    "offset": lambda t: t.offset > 0,
    "transposed": _transposed,
    "permuted": _permuted,
    "channels_last": lambda t: _channels_last(t, 4),
    "channels_last_3d": lambda t: _channels_last(t, 5),
    "gaps": _gaps,
    "expanded": _expanded,
    "overlapping": lambda t: t.has_overlap and not _expanded(t),
    "stray stride of a size 1": _stray,
}

# What no registry names.
FIXED: Mapping[str, tuple[str, ...]] = {
    "memory": (
        "in-place", "in-place on a view", "view", "view of an intermediate", "out=", "aliased inputs", "returned input",
        "returned view of an input", "returned twice",
    ),
    "script": (
        "gradient", "input that requires grad", "dynamic", "marked dynamic", "calls 2+", "other sizes",
        "compiled anew", "one input twice", "number argument", "constant",
    ),
    "structure": (
        "functions 2+", "closure", "state", "nested graph", "container returned", "nested container returned",
    ),
}  # fmt: skip


def names(forms: Mapping[str, Form]) -> dict[str, tuple[str, ...]]:
    """All traits that there are: group -> names."""
    return {
        "dtype": tuple(DTYPES),
        "layout": tuple(LAYOUTS),
        "values": tuple(VALUE_KINDS),
        **FIXED,
        "builtin": tuple(name for name in BUILTINS if name not in FOREIGN),
        "form": tuple(sorted(forms)),
        "context": tuple(CONTEXTS),
        "option": tuple(field.name for field in fields(RunOptions)),
    }


class Describer:
    """Says which traits a program has, as `group/name`. Costs less than a tenth of a millisecond for each operator."""

    def __init__(self, book: RuleBook) -> None:
        self._rules: Mapping[str, Rule] = book.rules

    def __call__(self, program: Program) -> set[str]:
        found = {f"option/{name}" for name in _changed(program.options)}
        found |= {f"builtin/{op}" for op in map(op_of, program.nodes()) if op in BUILTINS and op not in FOREIGN}
        for function in program.functions:
            found |= {f"form/{region.form}" for region in function.regions}
            found |= {f"memory/{name}" for name in self._memory(function)}
            found |= {f"structure/{name}" for name in _returned(function)}
            found |= {f"dtype/{t.dtype}" for node in function.graph.nodes for t in _tensors(type_of(node))}
        found |= _of_inputs(program)
        found |= {f"context/{context.name}" for call in program.calls for context in call.contexts}
        found |= {f"script/{name}" for name in _of_script(program)}
        return found | {f"structure/{name}" for name in _of_structure(program)}

    def _memory(self, function: Function) -> Iterator[str]:
        for node in function.body:
            written = self._written(node)
            if written is not None:
                yield "in-place"
                kind = type_of(written)
                if isinstance(kind, TensorType) and kind.alias is not None:
                    yield "in-place on a view"
            elif isinstance(node.kwargs.get(OUT), fx.Node):
                yield "out="
            elif any(t.alias is not None for t in _tensors(type_of(node))):
                yield "view"
                if not _of_input(function, node):
                    yield "view of an intermediate"
        leaves = list(_leaves(function.result))
        if any(leaf.op == "placeholder" for leaf in leaves):
            yield "returned input"
        if any(leaf.op == "call_function" and _of_input(function, leaf) for leaf in leaves):
            yield "returned view of an input"
        if len(set(leaves)) < len(leaves):
            yield "returned twice"

    def _written(self, node: fx.Node) -> fx.Node | None:
        """The first operand that the call writes, `out=` left out; None of calls that write none."""
        rule = self._rules.get(op_of(node))
        if rule is None or not any(rule.writes(p) for p in rule.params if p.name != OUT):
            return None
        places = [place for place in rule.written(node.args, node.kwargs) if place != OUT]
        return next((n for p in places for n in _leaves(node.args[p] if isinstance(p, int) else node.kwargs[p])), None)


def _changed(options: RunOptions) -> Iterator[str]:
    """Options that are not at their default."""
    default = RunOptions()
    return (f.name for f in fields(RunOptions) if getattr(options, f.name) != getattr(default, f.name))


def _tensors(kind: Type) -> Iterator[TensorType]:
    if isinstance(kind, TensorType):
        yield kind
    elif isinstance(kind, SequenceType):
        for item in kind.items:
            yield from _tensors(item)


def _leaves(value: Any) -> Iterator[fx.Node]:
    if isinstance(value, fx.Node):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))


def _of_input(function: Function, node: fx.Node) -> bool:
    """Whether a tensor of the node lives in the storage of something that comes from outside."""
    outside = {n.name for n in function.graph.nodes if n.op in ("placeholder", "get_attr")}
    return any(t.alias in outside for t in _tensors(type_of(node)))


def _of_inputs(program: Program) -> set[str]:
    found = set()
    for spec in (*program.inputs, *program.constants):
        found |= {f"layout/{name}" for name, has in LAYOUTS.items() if has(spec.type)}
        found |= {f"dtype/{spec.type.dtype}", f"values/{spec.values.kind}"}
        if spec.view_of is not None:
            found.add("memory/aliased inputs")
    return found


def _of_script(program: Program) -> Iterator[str]:
    specs = {spec.name: spec for spec in program.inputs}
    marked = any(spec.dynamic for spec in specs.values())
    shapes: dict[str, set[tuple[Any, ...]]] = {}
    for call in program.calls:
        given = [specs[a.name] for a in call.args if isinstance(a, Ref) and a.name in specs]
        shapes.setdefault(call.function, set()).add(tuple(spec.type.shape for spec in given))
        if call.fresh:
            yield "compiled anew"
        if len({spec.name for spec in given}) < len(given):
            yield "one input twice"
        if any(isinstance(a, int | float | complex) and not isinstance(a, bool) for a in call.args):
            yield "number argument"
    others = any(len(found) > 1 for found in shapes.values())
    facts = {
        "gradient": program.options.grad,
        "input that requires grad": any(spec.type.requires_grad for spec in specs.values()),
        "marked dynamic": marked,
        "other sizes": others,
        # The second size makes a dim dynamic where nobody says so.
        "dynamic": marked or others or program.options.dynamic is True,
        "calls 2+": len(program.calls) > 1,
        "constant": bool(program.constants),
    }
    yield from (name for name, holds in facts.items() if holds)


def _of_structure(program: Program) -> Iterator[str]:
    functions = {f.name for f in program.functions} | {closure.name for closure in program.closures}
    facts = {
        "functions 2+": len(program.functions) > 1,
        "closure": bool(program.closures),
        "state": bool(program.states),
        "nested graph": any(_takes_function(node, functions) for node in program.nodes()),
    }
    yield from (name for name, holds in facts.items() if holds)


def _takes_function(node: fx.Node, functions: set[str]) -> bool:
    """Whether an operator of torch's takes one of the program's functions."""
    operands = _leaves([node.args, node.kwargs])
    return op_of(node) not in BUILTINS and any(n.op == "get_attr" and n.target in functions for n in operands)


def _returned(function: Function) -> Iterator[str]:
    result = function.result
    if isinstance(result, tuple | list | dict):
        yield "container returned"
        items = result.values() if isinstance(result, dict) else result
        if any(isinstance(item, tuple | list | dict) for item in items):
            yield "nested container returned"


def split(trait: str) -> tuple[str, str]:
    """Group and name of a trait."""
    group, _, name = trait.partition("/")
    return group, name
