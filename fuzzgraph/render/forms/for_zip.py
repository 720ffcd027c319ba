"""The region in one pass of a loop over `zip`."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class ForZip(Plain):
    name = "for_zip"
    conditional = True

    def write(self, block: Block) -> list[str]:
        i, word = block.fresh("i"), block.fresh("word")
        inside = [f"if ({i}, {word}) == (7, \"b\"):", *indented(block.lines)]
        return [f"for {i}, {word} in zip([3, 7, 11], \"abcd\"):", *indented(inside)]
