"""The region between two calls that switch gradients off and set them as they were."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class GradModeCall(Plain):
    name = "grad_mode_call"
    weight = 1.5

    def write(self, block: Block) -> list[str]:
        before = block.fresh("before")
        start = [f"{before} = torch.is_grad_enabled()", "torch.set_grad_enabled(False)"]
        return [*start, *block.lines, f"torch.set_grad_enabled({before})"]
