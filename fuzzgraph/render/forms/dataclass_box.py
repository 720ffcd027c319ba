"""Results go through the fields of a data class. The argument says what it is declared with."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, form, indented


@form
class DataclassBox(Choice):
    name = "dataclass_box"
    CHOICES = {"plain": "", "frozen": "(frozen=True)", "slots": "(slots=True)", "ordered": "(order=True, eq=True)"}

    def write(self, block: Block) -> list[str]:
        kind, box = block.fresh("Data"), block.fresh("data")
        fields = [*(f"f{i}: object" for i in range(len(block.results))), "n: int = 1"]
        head = ["from dataclasses import dataclass", "", "", f"@dataclass{self.CHOICES[block.args[0]]}"]
        block.define([*head, f"class {kind}:", *indented(fields)])
        taken = [f"{r} = {box}.f{i}" for i, r in enumerate(block.results)]
        return [*block.lines, f"{box} = {kind}({block.returned})", *taken]
