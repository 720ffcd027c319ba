"""The region as a function that is compiled once and called twice, `torch.compiler.nested_compile_region`."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Facts, Plain, form, indented


@form
class CompileRegion(Plain):
    name = "compile_region"
    weight = 1.5

    def fits(self, facts: Facts) -> bool:
        return facts.functional and facts.separate

    def write(self, block: Block) -> list[str]:
        region, given = block.fresh("region"), ", ".join(block.given)
        head = ["@torch.compiler.nested_compile_region", f"def {region}({given}):"]
        block.define([*head, *indented(block.detached())])
        return [block.bind(f"{region}({given})")] * (2 if block.results else 1)
