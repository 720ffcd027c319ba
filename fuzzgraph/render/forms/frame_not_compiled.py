"""The region as an inner function whose frame is left alone, while what it calls is compiled."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form


@form
class FrameNotCompiled(Plain):
    name = "frame_not_compiled"

    def write(self, block: Block) -> list[str]:
        name, called = block.fresh("inner"), block.fresh("outer")
        outer = ["@torch.compiler.disable(recursive=False)", f"def {called}():", f"    return {name}()"]
        return [*block.inner(name), *outer, block.bind(f"{called}()")]
