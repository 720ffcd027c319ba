"""Results are unpacked from a longer sequence, the first or the last with a star."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzgraph.render.forms import Block, form


@form
class StarUnpack:
    """The argument says whether the star stands behind the results."""

    name = "star_unpack"
    weight = 1.0

    def problem(self, args: tuple[Any, ...]) -> str | None:
        return None if len(args) == 1 and isinstance(args[0], bool) else "takes True or False"

    def sample(self, rng: Random) -> tuple[Any, ...]:
        return (rng.random() < 0.5,)

    def write(self, block: Block) -> list[str]:
        if not block.results:
            return list(block.lines)
        rest, behind = block.fresh("rest"), block.args[0]
        target = f"{block.returned}, *{rest}" if behind else f"*{rest}, {block.returned}"
        values = f"[{block.returned}, 1, 2]" if behind else f"(1, 2, {block.returned})"
        return [*block.lines, f"{target} = {values}"]
