"""The region as a function defined inside, which is called at once; values from outside are its free variables."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class InnerFunction(Plain):
    name = "inner_function"

    def write(self, block: Block) -> list[str]:
        name = block.fresh("inner")
        return [*block.inner(name), block.bind(f"{name}()")]
