"""The region as an inner function that takes what it reads as `**kwargs`."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class KeywordDict(Plain):
    name = "keyword_dict"

    def write(self, block: Block) -> list[str]:
        name, rest, params = block.fresh("inner"), block.fresh("kwargs"), block.params
        unpack = [f"{p} = {rest}[{p!r}]" for p in params]
        given = ", ".join(f"{p!r}: {p}" for p in params)
        body = block.body(first=unpack)
        return [f"def {name}(**{rest}):", *indented(body), block.bind(f"{name}(**{{{given}}})")]
