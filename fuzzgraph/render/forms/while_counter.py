"""The region in one pass of a `while` on a Python counter."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class WhileCounter(Plain):
    name = "while_counter"
    conditional = True

    def write(self, block: Block) -> list[str]:
        n = block.fresh("n")
        inside = [f"{n} += 1", f"if {n} != 2:", *indented(["continue"]), *block.lines]
        return [f"{n} = 0", f"while {n} < 3:", *indented(inside)]
