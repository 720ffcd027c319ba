"""A `torch.nn.Module`: the captures are its attributes, and the function is its `forward`.

A constant that requires grad becomes a parameter and any other constant a buffer; layers (`state l: layer`) become
submodules. The argument "eval" makes it a module that is not in training.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzzgraph.ir.program import Function, InputSpec
from fuzzgraph.render.forms import indented
from fuzzgraph.render.instances import Code, instance


@instance
class Module:
    name = "module"
    is_module = True

    def stem(self, function: Function, closure: str) -> str:
        return "".join(word.capitalize() for word in function.name.split("_"))

    def problem(self, args: tuple[Any, ...], functions: Mapping[str, Function], function: Function) -> str | None:
        return None if args in ((), ("eval",)) else 'takes "eval" or nothing'

    def define(self, code: Code, args: tuple[Any, ...]) -> list[str]:
        setting = ["super().__init__()", *(f"self.{name} = {name}" for name in code.captures)]
        return [
            f"class {code.name}(torch.nn.Module):",
            *indented([f"def __init__({', '.join(['self', *code.captures])}):", *indented(setting), ""]),
            *indented([code.head("forward", "self"), *indented(code.body("self"))]),
        ]

    def make(self, code: Code, args: tuple[Any, ...], captured: Mapping[str, tuple[Any, str]]) -> str:
        values = ", ".join(registered(value, text) for value, text in captured.values())
        return f"{code.name}({values})" + (".eval()" if args else "")


def registered(value: Any, text: str) -> str:
    """The attribute that a module makes of a captured value."""
    if not isinstance(value, InputSpec):
        return text
    return f"torch.nn.Parameter({text})" if value.type.requires_grad else f"torch.nn.Buffer({text})"
