"""The function in one of torch's decorators, which change what the compiler does with calls. The argument names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzzgraph.ir.program import Function
from fuzzgraph.render.forms import Facts, indented
from fuzzgraph.render.instances import Code, instance

REGION = "nested_compile_region"
DECORATORS = {
    REGION: "torch.compiler.nested_compile_region",
    "disable": "torch.compiler.disable",
    "no_grad": "torch.no_grad()",
    "enable_grad": "torch.enable_grad()",
}


@instance
class Decorated:
    name = "decorated"
    is_module = False

    def stem(self, function: Function, closure: str) -> str:
        return closure

    def problem(self, args: tuple[Any, ...], functions: Mapping[str, Function], function: Function) -> str | None:
        if len(args) != 1 or args[0] not in DECORATORS:
            return f"takes one of {', '.join(DECORATORS)}"
        return "a decorated function has no captures" if function.captures else None

    def offers(self, facts: Facts) -> list[tuple[Any, ...]]:
        # A region that is compiled once gives new, dense tensors, as what else takes functions.
        return [(name,) for name in DECORATORS if name != REGION or (facts.functional and facts.separate)]

    def define(self, code: Code, args: tuple[Any, ...]) -> list[str]:
        return [f"@{DECORATORS[args[0]]}", code.head(code.name), *indented(code.body(""))]

    def make(self, code: Code, args: tuple[Any, ...], captured: Mapping[str, tuple[Any, str]]) -> str:
        return code.name
