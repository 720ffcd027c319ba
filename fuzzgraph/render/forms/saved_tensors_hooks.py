"""The region under hooks for what backward will need of it. The argument says which."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, Facts, form, indented


@form
class SavedTensorsHooks(Choice):
    name = "saved_tensors_hooks"
    CHOICES = {
        "same": "saved_tensors_hooks(lambda t: t, lambda t: t)",
        "copy": "saved_tensors_hooks(lambda t: t.clone(), lambda t: t)",
        "packed": "saved_tensors_hooks(lambda t: (t, 1), lambda pack: pack[0])",
        "view": "saved_tensors_hooks(lambda t: t, lambda t: t.view_as(t))",
        "cpu": "save_on_cpu()",
    }

    def fits(self, facts: Facts) -> bool:
        """torch.func refuses to run under such hooks."""
        return "nested" not in facts.families

    def write(self, block: Block) -> list[str]:
        return [f"with torch.autograd.graph.{self.CHOICES[block.args[0]]}:", *indented(block.lines)]
