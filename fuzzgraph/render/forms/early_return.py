"""The region as an inner function that would return early."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class EarlyReturn(Plain):
    name = "early_return"

    def write(self, block: Block) -> list[str]:
        name, flag = block.fresh("inner"), block.fresh("flag")
        early = [f"if not {flag}:", *indented(["return None"])]
        return [*block.inner(name, flag, early), block.bind(f"{name}(1)")]
