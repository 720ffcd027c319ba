"""The region in one pass of a loop over `enumerate`, counted from another number than 0."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class ForEnumerate(Plain):
    name = "for_enumerate"
    weight = 1.5
    conditional = True

    def write(self, block: Block) -> list[str]:
        i, item = block.fresh("i"), block.fresh("item")
        inside = [f"if {i} != 4 or {item} != \"y\":", *indented(["continue"]), *block.lines]
        return [f"for {i}, {item} in enumerate(\"xyz\", 3):", *indented(inside)]
