"""A call that Dynamo cannot trace before the region."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class Printing(Plain):
    name = "printing"

    def write(self, block: Block) -> list[str]:
        return ['print("", end="")', *block.lines]
