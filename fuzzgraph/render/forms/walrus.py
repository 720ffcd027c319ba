"""The region in a branch on a value that the condition binds."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class Walrus(Plain):
    name = "walrus"
    conditional = True

    def write(self, block: Block) -> list[str]:
        n = block.fresh("n")
        return [f"if ({n} := len([1, 2, 3])) == 3 and {n} % 2:", *indented(block.lines)]
