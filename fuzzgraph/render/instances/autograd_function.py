"""A `torch.autograd.Function`: the function is its forward. The argument names another one, its backward, whose first
parameters are the gradients of the results; further ones have names of the forward's parameters, which are saved.

A second argument "setup_context" has them saved by a method of that name, as transforms of torch.func ask for;
"generate_vmap_rule" says besides that vmap may go through both functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fuzzgraph.ir.program import Function, Ref
from fuzzgraph.render.forms import Facts, indented
from fuzzgraph.render.instances import BACKWARD, Code, instance

# What a style adds to the class.
STYLES: Mapping[str, tuple[str, ...]] = {
    "setup_context": (), "generate_vmap_rule": ("generate_vmap_rule = True", ""),
}  # fmt: skip


@instance
class AutogradFunction:
    name = "autograd_function"
    is_module = False

    def stem(self, function: Function, closure: str) -> str:
        return "".join(word.capitalize() for word in function.name.split("_"))

    def problem(self, args: tuple[Any, ...], functions: Mapping[str, Function], function: Function) -> str | None:
        if not args or not isinstance(args[0], Ref) or args[0].name not in functions:
            return "takes the name of one function, its backward"
        if len(args) > 2 or not all(isinstance(style, str) and style in STYLES for style in args[1:]):
            return f"takes {' or '.join(STYLES)} behind its backward"
        backward = functions[args[0].name]
        if function.captures or backward.captures:
            return "its functions have no captures"
        mine = {p.name for p in function.params}
        given = [p.name in mine for p in backward.params]
        gradients = len(given) - sum(given)
        if given != sorted(given):
            return "the gradients come first among the parameters of the backward"
        results = len(function.result) if isinstance(function.result, tuple) else 1
        return None if gradients == results else f"{results} results and {gradients} gradients of results"

    def offers(self, facts: Facts) -> list[tuple[Any, ...]]:
        """Results of floats count as differentiable, whatever they come from."""
        there = bool(facts.tensors) and bool(facts.reads) and len(facts.read_tensors) == len(facts.reads)
        plain = there and facts.repeatable and not facts.shared
        floats = all(t.dtype in ("f32", "f64") for t in (*facts.read_tensors, *facts.tensors))
        return [(BACKWARD,), *((BACKWARD, style) for style in STYLES)] if plain and floats else []

    def define(self, code: Code, args: tuple[Any, ...]) -> list[str]:
        backward = code.function_of(args[0].name)
        saved = [p for p in backward.params if p in code.params]
        gradients = [p for p in backward.params if p not in code.params]
        save = [f"ctx.save_for_backward({', '.join(saved)})"] if saved else []
        load = [f"{_unpacked(saved)} = ctx.saved_tensors"] if saved else []
        if args[1:]:
            unpack = [f"{_unpacked(code.params)} = inputs"] if saved else ["pass"]
            forward = [code.head("forward"), *indented(code.body("")), ""]
            forward += ["@staticmethod", "def setup_context(ctx, inputs, output):", *indented([*unpack, *save]), ""]
        else:
            forward = [code.head("forward", "ctx"), *indented([*save, *code.body("")]), ""]
        head = f"def backward({', '.join(['ctx', *gradients])}):"
        return [
            f"class {code.name}(torch.autograd.Function):",
            *indented([line for style in args[1:] for line in STYLES[style]]),
            *indented(["@staticmethod", *forward]),
            *indented(["@staticmethod", head, *indented([*load, *backward.body("")])]),
        ]

    def make(self, code: Code, args: tuple[Any, ...], captured: Mapping[str, tuple[Any, str]]) -> str:
        return f"{code.name}.apply"


def _unpacked(names: Sequence[str]) -> str:
    """A target that takes a tuple apart."""
    return f"{', '.join(names)}{',' if len(names) == 1 else ''}"
