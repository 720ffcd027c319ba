"""The region as an inner function that the compiler is told to leave alone."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class NotCompiled(Plain):
    name = "not_compiled"

    def write(self, block: Block) -> list[str]:
        name = block.fresh("inner")
        return ["@torch.compiler.disable", *block.inner(name), block.bind(f"{name}()")]
