"""The region as an inner function that takes what it reads by keyword only."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class KeywordArguments(Plain):
    name = "keyword_arguments"

    def write(self, block: Block) -> list[str]:
        name, params = block.fresh("inner"), block.params
        head = ", ".join(["*", *params] if params else [])
        given = ", ".join(f"{p}={p}" for p in reversed(params))
        return [*block.inner(name, head), block.bind(f"{name}({given})")]
