"""The region as one of several functions that a loop makes, each with a default of its own."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class ClosuresInLoop(Plain):
    name = "closures_in_loop"
    conditional = True

    def write(self, block: Block) -> list[str]:
        made, i, late, name = block.fresh("made"), block.fresh("i"), block.fresh("late"), block.fresh("inner")
        body = [f"{late}.append(lambda: {i})", *block.inner(name, f"{i}={i}"), f"{made}.append({name})"]
        loop = [f"{made}, {late} = [], []", f"for {i} in range(3):", *indented(body)]
        test = f"if [f() for f in {late}] == [2, 2, 2]:"
        return [*loop, test, *indented([block.bind(f"{made}[1]()")])]
