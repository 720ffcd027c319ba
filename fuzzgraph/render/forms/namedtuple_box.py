"""Results go through a named tuple."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class NamedtupleBox(Plain):
    name = "namedtuple_box"

    def write(self, block: Block) -> list[str]:
        kind, box = block.fresh("Box"), block.fresh("box")
        names, given = [f"f{i}" for i in range(len(block.results))], ", ".join(block.results)
        made = ["from collections import namedtuple", f"{kind} = namedtuple({kind!r}, {names!r})"]
        made += [f"{box} = {kind}({given})"]
        return [*block.lines, *made, *(f"{r} = {box}.{n}" for r, n in zip(block.results, names))]
