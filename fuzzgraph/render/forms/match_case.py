"""The region in a case of `match`."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class MatchCase(Plain):
    name = "match_case"
    conditional = True

    def write(self, block: Block) -> list[str]:
        kind, n = block.fresh("kind"), block.fresh("n")
        cases = ['case ("none", _):', *indented(["pass"]), f'case ("some", {n}) if {n} > 1:', *indented(block.lines)]
        return [f'{kind} = ("some", 2)', f"match {kind}:", *indented(cases)]
