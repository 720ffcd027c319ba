"""The region in one pass of a loop over a list that is sorted and reversed."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class ForReversed(Plain):
    name = "for_reversed"

    def write(self, block: Block) -> list[str]:
        i = block.fresh("i")
        inside = [f"if {i} == 1:", *indented([*block.lines, "break"])]
        return [f"for {i} in reversed(sorted([2, 3, 1])):", *indented(inside)]
