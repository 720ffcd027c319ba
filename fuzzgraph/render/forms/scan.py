"""The region as what torch's `scan` does to one slice of a first tensor that it reads, along a counter."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzgraph.render.forms import Block, Facts, form, indented


@form
class Scan:
    """The argument says whether it goes backwards."""

    name = "scan"
    weight = 1.6

    def problem(self, args: tuple[Any, ...]) -> str | None:
        return None if len(args) == 1 and isinstance(args[0], bool) else "takes True or False"

    def sample(self, rng: Random) -> tuple[Any, ...]:
        return (rng.random() < 0.5,)

    def fits(self, facts: Facts) -> bool:
        return facts.functional and facts.separate

    def write(self, block: Block) -> list[str]:
        name, n, x = block.fresh("inner"), block.fresh("n"), block.first or block.fresh("unused")
        lines = [f"def {name}({x}):", *indented([*block.body(""), f"return {block.copies}"])]
        over = f"{x}.unsqueeze(0)" if block.first else "torch.zeros(1)"
        made = ["from torch._higher_order_ops.scan import scan"]
        step, way = f"lambda {n}, {x}: ({n} + 1, {name}({x}))", f"reverse={block.args[0]}"
        made += [f"{n}, {block.group} = scan({step}, torch.zeros(()), {over}, {way})"]
        made += [f"{r} = {r}[0]" for r in block.results]
        return [*lines, *block.while_compiling(made, f"{name}({block.first or None})")]
