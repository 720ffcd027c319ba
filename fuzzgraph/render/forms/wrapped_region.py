"""The region as the function of torch's operator `wrap`, which does no more than call it."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Facts, Plain, form


@form
class WrappedRegion(Plain):
    name = "wrapped_region"
    weight = 1.2

    def fits(self, facts: Facts) -> bool:
        return facts.functional and facts.separate

    def write(self, block: Block) -> list[str]:
        name = block.fresh("inner")
        made = ["from torch._higher_order_ops.wrap import wrap", block.bind(f"wrap({name})")]
        return [*block.inner(name), *block.while_compiling(made, f"{name}()")]
