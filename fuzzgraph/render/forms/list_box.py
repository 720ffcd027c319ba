"""Results go through a list that is appended to, reversed and unpacked."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class ListBox(Plain):
    name = "list_box"

    def write(self, block: Block) -> list[str]:
        box, rest = block.fresh("box"), block.fresh("rest")
        filled = [f"{box} = []", *(f"{box}.append({r})" for r in block.results), f"{box}.reverse()"]
        unpack = [f"*{rest}, = {box}", *(f"{r} = {rest}[{-1 - i}]" for i, r in enumerate(block.results))]
        return [*block.lines, *filled, *unpack]
