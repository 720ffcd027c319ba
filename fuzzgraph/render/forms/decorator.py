"""The region as an inner function under a decorator that calls it."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class Decorator(Plain):
    name = "decorator"

    def write(self, block: Block) -> list[str]:
        name, wrap, inside = block.fresh("inner"), block.fresh("decorator"), block.fresh("wrapped")
        decorator = [f"def {wrap}(function):", *indented([
            f"def {inside}(*args, **kwargs):", *indented(["return function(*args, **kwargs)"]), f"return {inside}",
        ])]  # fmt: skip
        return [*decorator, f"@{wrap}", *block.inner(name), block.bind(f"{name}()")]
