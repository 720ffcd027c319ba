"""The region as an inner function that raises its results."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class RaisedResults(Plain):
    name = "raised_results"

    def write(self, block: Block) -> list[str]:
        name, done, kind = block.fresh("inner"), block.fresh("done"), block.fresh("Done")
        block.define([f"class {kind}(Exception):", *indented(["pass"])])
        body = [*block.body(""), f"raise {kind}({block.returned})"]
        caught = [f"{block.returned}, = {done}.args"] if block.results else ["pass"]
        lines = [f"def {name}():", *indented(body), "try:", *indented([f"{name}()"])]
        return [*lines, f"except {kind} as {done}:", *indented(caught)]
