"""The region as an inner function that leaves its results in variables of the outer one."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class NonlocalResults(Plain):
    name = "nonlocal_results"

    def write(self, block: Block) -> list[str]:
        name, results = block.fresh("inner"), block.returned
        declared = [f"nonlocal {results}"] if results else []
        before = [f"{' = '.join(block.results)} = None"] if results else []
        return [*before, f"def {name}():", *indented([*declared, *block.body(end="")]), f"{name}()"]
