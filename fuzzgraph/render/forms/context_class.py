"""The region under a context manager written as a class."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class ContextClass(Plain):
    name = "context_class"
    weight = 1.2

    def write(self, block: Block) -> list[str]:
        kind = block.fresh("Scope")
        methods = ["def __enter__(self):", *indented(["return self"])]
        methods += ["def __exit__(self, *exc):", *indented(["return False"])]
        return [f"class {kind}:", *indented(methods), f"with {kind}():", *indented(block.lines)]
