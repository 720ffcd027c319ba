"""The region under a mode that sees all calls of torch and lets them pass."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Plain, form, indented


@form
class TorchFunctionMode(Plain):
    name = "torch_function_mode"

    def write(self, block: Block) -> list[str]:
        kind = block.fresh("Mode")
        body = indented(["return func(*args, **(kwargs or {}))"])
        method = ["def __torch_function__(self, func, types, args=(), kwargs=None):", *body]
        block.define([f"class {kind}(torch.overrides.TorchFunctionMode):", *indented(method)])
        return [f"with {kind}():", *indented(block.lines)]
