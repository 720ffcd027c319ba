"""`with torch.inference_mode():` around a region."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Facts, Plain, form, indented


@form
class InferenceRegion(Plain):
    name = "inference_region"
    weight = 1.6

    def fits(self, facts: Facts) -> bool:
        """What it makes can neither be written nor saved for backward outside."""
        return not (facts.grad or facts.effects or facts.writes or facts.rewritten or facts.shared)

    def write(self, block: Block) -> list[str]:
        return ["with torch.inference_mode():", *indented(block.lines)]
