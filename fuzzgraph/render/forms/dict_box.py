"""Results go through a dict and come back by key."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class DictBox(Plain):
    name = "dict_box"

    def write(self, block: Block) -> list[str]:
        box = block.fresh("box")
        items = ", ".join(f"{r!r}: {r}" for r in block.results)
        back = [f"{r} = {box}.pop({r!r})" for r in reversed(block.results)]
        return [*block.lines, f"{box} = dict({{{items}}})", *back]
