"""Results go through attributes of an object."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class NamespaceBox(Plain):
    name = "namespace_box"

    def write(self, block: Block) -> list[str]:
        box = block.fresh("box")
        made = ["from types import SimpleNamespace", f"{box} = SimpleNamespace()"]
        made += [f"{box}.{r} = {r}" for r in block.results]
        return [*block.lines, *made, *(f"{r} = getattr({box}, {r!r})" for r in block.results)]
