"""`with torch.autocast("cpu", dtype=...):` around a region. The argument is the dtype; None switches it off."""

from __future__ import annotations

from fuzzgraph.render.forms import Autocasting, Block, form, indented


@form
class Autocast(Autocasting):
    name = "autocast"

    def write(self, block: Block) -> list[str]:
        return [f'with torch.autocast("cpu", {self.CHOICES[block.args[0]]}):', *indented(block.lines)]
