"""The region in one pass of a loop over a list that is sorted and reversed."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class ForReversed(Plain):
    name = "for_reversed"
    conditional = True

    def write(self, block: Block) -> list[str]:
        i, seen = block.fresh("i"), block.fresh("seen")
        inside = [f"{seen}.append({i})", f"if {seen} == [3, 2, 1]:", *indented(block.lines)]
        return [f"{seen} = []", f"for {i} in reversed(sorted([2, 3, 1])):", *indented(inside)]
