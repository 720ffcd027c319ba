"""`with torch.no_grad():` around a region."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class NoGrad(Plain):
    name = "no_grad"

    def write(self, block: Block) -> list[str]:
        return ["with torch.no_grad():", *indented(block.lines)]
