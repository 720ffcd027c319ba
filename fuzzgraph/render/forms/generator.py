"""The region in a generator, of which the outer function takes what it yields."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class Generator(Plain):
    name = "generator"

    def write(self, block: Block) -> list[str]:
        name = block.fresh("inner")
        if not block.results:
            each = block.fresh("each")
            body = indented([*block.body(), "yield 1"])
            return [f"def {name}():", *body, f"for {each} in {name}():", *indented(["pass"])]
        return [f"def {name}():", *indented(block.body("yield")), block.bind(f"next({name}())")]
