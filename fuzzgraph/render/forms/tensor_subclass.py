"""The region on tensors of a subclass with `__torch_function__`. The argument says what that does."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, Facts, form, indented


@form
class TensorSubclass(Choice):
    name = "tensor_subclass"
    concrete = True
    CHOICES = {
        "inherited": ("pass",),
        "passing": (
            "@classmethod",
            "def __torch_function__(cls, func, types, args=(), kwargs=None):",
            "    return super().__torch_function__(func, types, args, kwargs or {})",
        ),
        "disabled": ("__torch_function__ = torch._C._disabled_torch_function_impl",),
    }

    def fits(self, facts: Facts) -> bool:
        return not (facts.effects or facts.writes or facts.shared) and bool(facts.tensors) and bool(facts.read_tensors)

    def write(self, block: Block) -> list[str]:
        kind, name = block.fresh("Sub"), block.fresh("inner")
        block.define([f"class {kind}(torch.Tensor):", *indented(self.CHOICES[block.args[0]])])
        tensors = [n for n, _ in block.tensors if n in block.params]
        given = ", ".join(f"{n}.as_subclass({kind})" for n in tensors)
        lines = [*block.inner(name, ", ".join(tensors)), block.bind(f"{name}({given})")]
        return [*lines, *(f"{r} = {r}.as_subclass(torch.Tensor)" for r in block.results)]
