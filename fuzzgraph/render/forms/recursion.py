"""The region as an inner function that calls itself twice before it does it."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class Recursion(Plain):
    name = "recursion"

    def write(self, block: Block) -> list[str]:
        name, depth = block.fresh("inner"), block.fresh("depth")
        again = [f"if {depth} > 0:", *indented([f"return {name}({depth} - 1)"])]
        return [*block.inner(name, depth, again), block.bind(f"{name}(2)")]
