"""The region in the branch of `torch.cond` that is taken; the other branch gives zeros of equal metadata.

The arguments are what the predicate is made of, and whether the region is in the second branch. Where Python runs it,
the branch is called directly: in eager, torch.cond would compile.
"""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzgraph.render.forms import Block, Facts, form, indented

# {x} is the first tensor with dims that the region reads.
PREDICATES = {
    "made": "torch.ones(2).sum() > 1", "elements": "({x} != {x}).sum() >= 0", "size": "torch.tensor({x}.shape[0]) >= 0",
    "number": "{x}.shape[0] >= 0",
}  # fmt: skip


@form
class Cond:
    name = "cond"
    weight = 1.6

    def problem(self, args: tuple[Any, ...]) -> str | None:
        if len(args) == 2 and args[0] in PREDICATES and isinstance(args[1], bool):
            return None
        return f"takes one of {', '.join(PREDICATES)} and True or False"

    def sample(self, rng: Random) -> tuple[Any, ...]:
        return (rng.choice(list(PREDICATES)), rng.random() < 0.5)

    def fits(self, facts: Facts) -> bool:
        return facts.functional and facts.separate

    def write(self, block: Block) -> list[str]:
        kind, second = block.args
        asked = [name for name, type in block.tensors if type.rank]
        predicate = PREDICATES[kind if asked else "made"].format(x=asked[0] if asked else "")
        taken, other = block.fresh("taken"), block.fresh("other")
        zeros = ", ".join(f"torch.zeros_like({r})" for r in block.results)
        lines = [f"def {taken}():", *indented([*block.body(""), f"return {block.copies}"])]
        lines += [f"def {other}():", *indented([block.bind(f"{taken}()"), f"return {zeros}"])]
        call = f"torch.cond({predicate}, {taken}, {other})"
        if second:
            turned = f"not {predicate}" if kind == "number" and asked else f"torch.logical_not({predicate})"
            call = f"torch.cond({turned}, {other}, {taken})"
        return [*lines, *block.while_compiling([block.bind(call)], f"{taken}()")]
