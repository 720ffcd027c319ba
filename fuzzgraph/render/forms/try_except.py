"""The region in the handler of an exception that is raised before it."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class TryExcept(Plain):
    name = "try_except"

    def write(self, block: Block) -> list[str]:
        raised = indented(['raise KeyError("expected")'])
        return ["try:", *raised, "except (ValueError, KeyError):", *indented(block.lines)]
