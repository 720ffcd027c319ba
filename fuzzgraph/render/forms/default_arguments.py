"""The region as an inner function whose parameters have what it reads as defaults."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class DefaultArguments(Plain):
    name = "default_arguments"

    def write(self, block: Block) -> list[str]:
        name, params = block.fresh("inner"), ", ".join(f"{p}={p}" for p in block.params)
        return [*block.inner(name, params), block.bind(f"{name}()")]
