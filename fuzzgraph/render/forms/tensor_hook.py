"""Hooks on the gradients of the results that change nothing. The argument says which."""

from __future__ import annotations

from fuzzgraph.ir.types import TensorType
from fuzzgraph.render.forms import Block, Choice, form, indented


@form
class TensorHook(Choice):
    name = "tensor_hook"
    CHOICES = {
        "same": "{r}.register_hook(lambda grad: grad)",
        "none": "{r}.register_hook(lambda grad: None)",
        "copy": "{r}.register_hook(lambda grad: grad.clone())",
        "several": "torch.autograd.graph.register_multi_grad_hook([{r}], lambda grads: None)",
    }

    def write(self, block: Block) -> list[str]:
        lines = list(block.lines)
        for name, kind in zip(block.results, block.kinds):
            if isinstance(kind, TensorType):
                lines += [f"if {name}.requires_grad:", *indented([self.CHOICES[block.args[0]].format(r=name)])]
        return lines
