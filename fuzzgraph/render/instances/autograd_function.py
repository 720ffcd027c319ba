"""A `torch.autograd.Function`: the function is its forward. The argument names another one, its backward, whose first
parameters are the gradients of the results; further ones have names of the forward's parameters, which are saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzzgraph.ir.program import Function, Ref
from fuzzgraph.render.forms import Facts, indented
from fuzzgraph.render.instances import BACKWARD, Code, instance


@instance
class AutogradFunction:
    name = "autograd_function"
    is_module = False

    def stem(self, function: Function, closure: str) -> str:
        return "".join(word.capitalize() for word in function.name.split("_"))

    def problem(self, args: tuple[Any, ...], functions: Mapping[str, Function], function: Function) -> str | None:
        if len(args) != 1 or not isinstance(args[0], Ref) or args[0].name not in functions:
            return "takes the name of one function, its backward"
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
        return [(BACKWARD,)] if plain and floats else []

    def define(self, code: Code, args: tuple[Any, ...]) -> list[str]:
        backward = code.function_of(args[0].name)
        saved = [p for p in backward.params if p in code.params]
        gradients = [p for p in backward.params if p not in code.params]
        save = [f"ctx.save_for_backward({', '.join(saved)})"] if saved else []
        load = [f"{', '.join(saved)}{',' if len(saved) == 1 else ''} = ctx.saved_tensors"] if saved else []
        head = f"def backward({', '.join(['ctx', *gradients])}):"
        return [
            f"class {code.name}(torch.autograd.Function):",
            *indented(["@staticmethod", code.head("forward", "ctx"), *indented([*save, *code.body("")]), ""]),
            *indented(["@staticmethod", head, *indented([*load, *backward.body("")])]),
        ]

    def make(self, code: Code, args: tuple[Any, ...], captured: Mapping[str, tuple[Any, str]]) -> str:
        return f"{code.name}.apply"
