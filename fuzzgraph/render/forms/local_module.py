"""The region as the `forward` of an `nn.Module` that is made where it is called."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Facts, Plain, form, indented


@form
class LocalModule(Plain):
    name = "local_module"

    def fits(self, facts: Facts) -> bool:
        return facts.movable

    def write(self, block: Block) -> list[str]:
        kind, given = block.fresh("Region"), ", ".join(block.given)
        methods = [f"def forward({', '.join(['self', *block.given])}):", *indented(block.detached())]
        block.define([f"class {kind}(torch.nn.Module):", *indented(methods)])
        return [block.bind(f"{kind}()({given})")]
