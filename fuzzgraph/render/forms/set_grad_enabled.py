"""`with torch.set_grad_enabled(...)` around a region. The argument is the expression that says whether."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, form, indented


@form
class SetGradEnabled(Choice):
    name = "set_grad_enabled"
    CHOICES = dict.fromkeys(["True", "False", "torch.is_grad_enabled()", "not torch.is_grad_enabled()"])

    def write(self, block: Block) -> list[str]:
        return [f"with torch.set_grad_enabled({block.args[0]}):", *indented(block.lines)]
