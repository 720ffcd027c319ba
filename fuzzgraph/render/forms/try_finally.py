"""The region in a `try` without an exception, whose `finally` comes last."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class TryFinally(Plain):
    name = "try_finally"

    def write(self, block: Block) -> list[str]:
        done = block.fresh("done")
        body = ["try:", *indented(block.lines), "except ZeroDivisionError:", *indented(["raise"])]
        return [*body, "else:", *indented([f"{done} = True"]), "finally:", *indented([f"{done} = None"])]
