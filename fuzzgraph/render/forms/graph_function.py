"""The region as a function that Dynamo puts into the graph as it is, without reading it. The argument says how it is
told to."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, Facts, form, indented


@form
class GraphFunction(Choice):
    name = "graph_function"
    weight = 1.4
    CHOICES = {"allow_in_graph": "torch.compiler.allow_in_graph", "nonstrict_trace": "torch._dynamo.nonstrict_trace"}

    def fits(self, facts: Facts) -> bool:
        return facts.functional and bool(facts.tensors) and not facts.shared

    def write(self, block: Block) -> list[str]:
        region, given = block.fresh("region"), ", ".join(block.given)
        head = [f"@{self.CHOICES[block.args[0]]}", f"def {region}({given}):"]
        block.define([*head, *indented(block.detached())])
        return [block.bind(f"{region}({given})")]
