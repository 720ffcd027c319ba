"""A Python closure: the captures are variables of the function around it. Without captures, the function itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzzgraph.ir.program import Function
from fuzzgraph.render.forms import indented
from fuzzgraph.render.instances import Code, instance


@instance
class PlainClosure:
    name = "closure"
    is_module = False

    def stem(self, function: Function, closure: str) -> str:
        return f"make_{function.name}" if function.captures else function.name

    def problem(self, args: tuple[Any, ...], functions: Mapping[str, Function], function: Function) -> str | None:
        return "takes no arguments" if args else None

    def define(self, code: Code, args: tuple[Any, ...]) -> list[str]:
        if not code.captures:
            return [code.head(code.name), *indented(code.body(""))]
        inner = [code.head(code.outer), *indented(code.body("")), "", f"return {code.outer}"]
        return [f"def {code.name}({', '.join(code.captures)}):", *indented(inner)]

    def make(self, code: Code, args: tuple[Any, ...], captured: Mapping[str, tuple[Any, str]]) -> str:
        return f"{code.name}({', '.join(text for _, text in captured.values())})" if code.captures else code.name
