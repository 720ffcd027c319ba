"""The region as an inner function that a lambda calls."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class LambdaCall(Plain):
    name = "lambda_call"

    def write(self, block: Block) -> list[str]:
        name, call = block.fresh("inner"), block.fresh("call")
        inner = [*block.inner(name), f"{call} = lambda g, n=1: g() if n else None"]
        return [*inner, block.bind(f"{call}({name})")]
