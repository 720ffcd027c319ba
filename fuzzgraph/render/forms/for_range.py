"""The region in one pass of a loop over a `range`, with any step and cut by a slice.

The arguments are those of `range`, and of the slice that is taken of it; the last number that is left runs the region,
if the numbers before it came as they should.
"""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzgraph.render.forms import Block, form, indented


@form
class ForRange:
    name = "for_range"
    conditional = True
    weight = 1.0

    def problem(self, args: tuple[Any, ...]) -> str | None:
        if len(args) != 6 or not all(a is None or type(a) is int for a in args):
            return "takes six whole numbers or None: start, stop, step of a range, and of its slice"
        if None in args[:3] or not args[2] or args[5] == 0:
            return "the range needs its three numbers, and no step may be 0"
        return None if numbers(args) else "no number is left"

    def sample(self, rng: Random) -> tuple[Any, ...]:
        while True:
            start, stop, step = rng.randint(-3, 3), rng.randint(-3, 8), rng.choice([1, 1, 2, 3, -1, -2])
            cut = [rng.choice([None, None, *range(-4, 5)]) for _ in range(2)]
            args = (start, stop, step, *cut, rng.choice([None, None, 1, 2, -1, -2]))
            if numbers(args):
                return args

    def write(self, block: Block) -> list[str]:
        i, seen = block.fresh("i"), block.fresh("seen")
        cut = ":".join("" if a is None else str(a) for a in block.args[3:])
        cut = "" if cut == "::" else f"[{cut}]"
        over = f"range({', '.join(map(str, block.args[:3]))}){cut}"
        inside = [f"{seen}.append({i})", f"if {seen} == {list(numbers(block.args))}:", *indented(block.lines)]
        return [f"{seen} = []", f"for {i} in {over}:", *indented(inside)]


def numbers(args: tuple[Any, ...]) -> range:
    return range(*args[:3])[slice(*args[3:])]
