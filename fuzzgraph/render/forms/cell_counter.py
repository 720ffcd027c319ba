"""The region behind a Python counter in a closure cell that an inner function counts up."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class CellCounter(Plain):
    name = "cell_counter"
    conditional = True

    def write(self, block: Block) -> list[str]:
        n, bump = block.fresh("n"), block.fresh("bump")
        inner = [f"def {bump}():", *indented([f"nonlocal {n}", f"{n} = {n} + 1", f"return {n}"])]
        test = [f"{bump}()", f"if {bump}() == 2 and {n} == 2:", *indented(block.lines)]
        return [f"{n} = 0", *inner, *test]
