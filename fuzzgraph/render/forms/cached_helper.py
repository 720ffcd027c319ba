"""The region in a branch on what a cached function at module level gives."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class CachedHelper(Plain):
    name = "cached_helper"
    conditional = True

    def write(self, block: Block) -> list[str]:
        name = block.fresh("count")
        head = ["import functools", "", "", "@functools.lru_cache(maxsize=8)", f"def {name}(n, step=1):"]
        block.define([*head, "    return n + step"])
        return [f"if {name}(1) + {name}(1) + {name}(1, step=2) == 7:", *indented(block.lines)]
