"""The region in a branch on a function that states something about Python: classes, operators, containers, functions,
numbers. The argument says which, by its name in `fuzzgraph/render/facts`."""

from __future__ import annotations

from fuzzgraph.render.facts import facts
from fuzzgraph.render.forms import Block, Choice, form, indented


@form
class PythonFact(Choice):
    name = "python_fact"
    conditional = True
    again = True
    weight = 8.0
    CHOICES = facts()

    def write(self, block: Block) -> list[str]:
        lines, function = self.CHOICES[block.args[0]].written(block.fresh)
        block.define(lines)
        return [f"if {function}():", *indented(block.lines)]
