"""The region under `torch.utils.checkpoint`: backward computes it again. The argument says with which options."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, Facts, form


@form
class Checkpoint(Choice):
    name = "checkpoint"
    weight = 1.5
    CHOICES = {"plain": "", "no rng": ", preserve_rng_state=False", "no check": ', determinism_check="none"'}

    def fits(self, facts: Facts) -> bool:
        return facts.repeatable and not facts.shared

    def write(self, block: Block) -> list[str]:
        name, params = block.fresh("inner"), ", ".join(block.params)
        lines = ["from torch.utils.checkpoint import checkpoint"]
        lines += block.inner(name, params)
        given = ", ".join([name, *block.params, f"use_reentrant=False{self.CHOICES[block.args[0]]}"])
        return [*lines, block.bind(f"checkpoint({given})")]
