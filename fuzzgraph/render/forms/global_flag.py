"""The region in a branch on a flag at module level that an inner function turns, and turns back."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class GlobalFlag(Plain):
    name = "global_flag"
    conditional = True

    def write(self, block: Block) -> list[str]:
        flag, turn = block.fresh("flag"), block.fresh("turn")
        block.define([f"{flag} = False"])
        body = [f"global {flag}", f"{flag} = not {flag}", f"return {flag}"]
        return [f"def {turn}():", *indented(body), f"if {turn}():", *indented([*block.lines, f"{turn}()"])]
