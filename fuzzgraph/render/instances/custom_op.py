"""An operator that `torch.library.custom_op` registers: the compiler does not look inside. The arguments are the names
of those parameters that the function writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch.fx as fx

from fuzzgraph.ir.program import Function, type_of
from fuzzgraph.ir.types import NoneType, ScalarType, SequenceType, TensorType, Type
from fuzzgraph.ir.typing import structure_type
from fuzzgraph.render.forms import Facts, indented
from fuzzgraph.render.instances import Code, instance
from fuzzgraph.render.literals import literal


@instance
class CustomOp:
    name = "custom_op"
    is_module = False

    def stem(self, function: Function, closure: str) -> str:
        return closure

    def problem(self, args: tuple[Any, ...], functions: Mapping[str, Function], function: Function) -> str | None:
        if function.captures:
            return "an operator has no captures"
        tensors = [p.name for p in function.params if isinstance(type_of(p), TensorType)]
        if not all(arg in tensors for arg in args):
            return f"its arguments name parameters that are tensors: {', '.join(tensors)}"
        unknown = [p.name for p in function.params if annotation(type_of(p)) is None]
        if unknown:
            return f"the type of parameter {unknown[0]} is not known"
        return None if returned(function) else "an operator returns tensors and numbers, or nothing"

    def offers(self, facts: Facts) -> list[tuple[Any, ...]]:
        """Without arguments, that is: nothing is written. There is no derivative, so nothing may require grad."""
        new = bool(facts.tensors) and not facts.shared and facts.repeatable
        return [()] if new and not facts.grad and len(facts.read_tensors) == len(facts.reads) else []

    def define(self, code: Code, args: tuple[Any, ...]) -> list[str]:
        params = ", ".join(f"{p.name}: {annotation(type_of(p))}" for p in code.function.params)
        lines = [
            f'@torch.library.custom_op("fuzzgraph::{code.name}", mutates_args={literal(args)})',
            f"def {code.name}({params}) -> {returned(code.function)}:",
            *indented(code.body("")),
        ]
        if returned(code.function) != "None":  # what FakeTensors give
            lines += ["", "", f"@{code.name}.register_fake", code.head(f"{code.name}_fake"), *indented(code.body(""))]
        return lines

    def make(self, code: Code, args: tuple[Any, ...], captured: Mapping[str, tuple[Any, str]]) -> str:
        return code.name


def annotation(kind: Type) -> str | None:
    """How the signature of an operator says a type; None for one that it cannot say."""
    if isinstance(kind, TensorType):
        return "torch.Tensor"
    return kind.kind if isinstance(kind, ScalarType) and kind.kind in ("int", "float", "bool", "str") else None


def returned(function: Function) -> str | None:
    """What the signature says of the result."""
    result = function.result
    kind = type_of(result) if isinstance(result, fx.Node) else structure_type(result)
    if isinstance(kind, NoneType):
        return "None"
    if isinstance(kind, SequenceType) and kind.kind == "tuple":
        items = [annotation(item) for item in kind.items]
        return f"tuple[{', '.join(map(str, items))}]" if items and None not in items else None
    return annotation(kind)
