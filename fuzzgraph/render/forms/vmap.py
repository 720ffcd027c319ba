"""The region under `torch.vmap` over a first tensor that it reads; item 0 of what it gives. The argument says what
the batch is."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, Facts, form


@form
class Vmap(Choice):
    name = "vmap"
    weight = 2.2
    CHOICES = {
        "unit": "{x}.unsqueeze(0)", "expanded": "{x}.expand(2, *{x}.shape)", "stacked": "torch.stack([{x}, {x}])",
    }  # fmt: skip

    def fits(self, facts: Facts) -> bool:
        """Not every operator has a rule for batches; a write to what has none is an error."""
        plain = facts.pointwise and facts.functional
        return plain and bool(facts.tensors) and not facts.shared and bool(facts.read_tensors)

    def write(self, block: Block) -> list[str]:
        if not block.first or not block.results:
            return list(block.lines)
        name = block.fresh("inner")
        batch = self.CHOICES[block.args[0]].format(x=block.first)
        lines = [*block.inner(name, block.first), block.bind(f"torch.vmap({name})({batch})")]
        return [*lines, *(f"{r} = {r}[0]" for r in block.results)]
