"""The region as an inner function that `functools.partial` gives its arguments, all or the first."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class Partial(Plain):
    name = "partial"

    def write(self, block: Block) -> list[str]:
        name, made, params = block.fresh("inner"), block.fresh("bound"), block.params
        body = [*block.inner(name, ", ".join(params)), "from functools import partial"]
        given = ", ".join([name, *params[:1]])
        return [*body, f"{made} = partial({given})", block.bind(f"{made}({', '.join(f'{p}={p}' for p in params[1:])})")]
