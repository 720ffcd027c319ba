"""The region in a branch on a formatted string."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class FormatString(Plain):
    name = "format_string"
    conditional = True

    def write(self, block: Block) -> list[str]:
        word = block.fresh("word")
        return [f'{word} = f"{{3:02d}}-{{\'x\' * 2}}"', f'if {word} == "03-xx":', *indented(block.lines)]
