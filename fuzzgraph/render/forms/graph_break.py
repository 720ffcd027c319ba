"""A graph break before the region, with all values alive across it."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class GraphBreak(Plain):
    name = "graph_break"

    def write(self, block: Block) -> list[str]:
        return ["torch._dynamo.graph_break()", *block.lines]
