"""The region as an inner function that a list comprehension calls."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class Comprehension(Plain):
    name = "comprehension"

    def write(self, block: Block) -> list[str]:
        name, each = block.fresh("inner"), block.fresh("each")
        call = f"[{name}() for {each} in range(3) if {each} == 1]"
        return [*block.inner(name), block.bind(f"{call}[0]")]
