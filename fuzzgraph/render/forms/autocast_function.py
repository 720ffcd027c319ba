"""The region as an inner function under the decorator `torch.autocast`. The argument is the dtype; None switches it
off."""

from __future__ import annotations

from fuzzgraph.render.forms import Autocasting, Block, form


@form
class AutocastFunction(Autocasting):
    name = "autocast_function"

    def write(self, block: Block) -> list[str]:
        name = block.fresh("inner")
        how = self.CHOICES[block.args[0]]
        caching = "" if block.args[0] is None else ", cache_enabled=False"
        return [f'@torch.autocast("cpu", {how}{caching})', *block.inner(name), block.bind(f"{name}()")]
