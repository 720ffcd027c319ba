"""The region in one pass of a loop over the items of a dict that was changed."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class ForItems(Plain):
    name = "for_items"
    conditional = True

    def write(self, block: Block) -> list[str]:
        table, key, value = block.fresh("table"), block.fresh("key"), block.fresh("value")
        made = [f'{table} = {{"a": 1, "b": 2}}', f'{table}["c"] = {table}.pop("a") + 2']
        inside = [f'if ({key}, {value}) == ("c", 3):', *indented([*block.lines, "break"])]
        return [*made, f"for {key}, {value} in {table}.items():", *indented(inside)]
