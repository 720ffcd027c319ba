"""The region as a method of an object whose attributes hold what it reads."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class ObjectMethod(Plain):
    name = "object_method"

    def write(self, block: Block) -> list[str]:
        kind, this = block.fresh("Holder"), block.fresh("holder")
        start = [f"self.{p} = {p}" for p in block.params] or ["pass"]
        read = [f"{p} = self.{p}" for p in block.params]
        methods = [f"def __init__({', '.join(['self', *block.params])}):", *indented(start)]
        methods += ["def run(self):", *indented(block.body(first=read))]
        made = [f"class {kind}:", *indented(methods), f"{this} = {kind}({', '.join(block.params)})"]
        return [*made, block.bind(f"{this}.run()")]
