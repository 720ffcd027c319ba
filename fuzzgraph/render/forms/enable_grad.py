"""`with torch.enable_grad():` around a region."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class EnableGrad(Plain):
    name = "enable_grad"

    def write(self, block: Block) -> list[str]:
        return ["with torch.enable_grad():", *indented(block.lines)]
