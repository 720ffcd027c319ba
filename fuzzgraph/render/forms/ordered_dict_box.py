"""Results go through an OrderedDict whose first key moves to its end."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class OrderedDictBox(Plain):
    name = "ordered_dict_box"

    def write(self, block: Block) -> list[str]:
        box = block.fresh("box")
        made = ["from collections import OrderedDict", f"{box} = OrderedDict()"]
        made += [f"{box}[{i}] = {r}" for i, r in enumerate(block.results)]
        if not block.results:
            return [*block.lines, *made]
        order = [*block.results[1:], block.results[0]]
        names = ", ".join(order) + "," * (len(order) == 1)
        return [*block.lines, *made, f"{box}.move_to_end(0)", f"{names} = {box}.values()"]
