"""The region under torch's operator `map`, over a first tensor that it reads, of which there is one."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Facts, Plain, form, indented


@form
class MapOperator(Plain):
    name = "map_operator"

    def fits(self, facts: Facts) -> bool:
        return facts.functional and facts.separate

    def write(self, block: Block) -> list[str]:
        name, x = block.fresh("inner"), block.first or block.fresh("unused")
        lines = [f"def {name}({x}):", *indented([*block.body(""), f"return {block.copies}"])]
        over = f"{x}.unsqueeze(0)" if block.first else "torch.zeros(1)"
        made = ["from torch._higher_order_ops import map as map_operator", block.bind(f"map_operator({name}, {over})")]
        made += [f"{r} = {r}[0]" for r in block.results]
        return [*lines, *block.while_compiling(made, f"{name}({block.first or None})")]
