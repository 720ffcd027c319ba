"""The region as an inner function that takes what it reads as `*args` and unpacks them."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class StarArguments(Plain):
    name = "star_arguments"

    def write(self, block: Block) -> list[str]:
        name, rest, params = block.fresh("inner"), block.fresh("args"), block.params
        unpack = [f"{', '.join(params)}{',' * (len(params) == 1)} = {rest}"] if params else []
        body = block.body(first=unpack)
        return [f"def {name}(*{rest}):", *indented(body), block.bind(f"{name}({', '.join(params)})")]
