"""The region as a `torch.autograd.Function`, whose backward computes it again. The argument says by what."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, Facts, form, indented


@form
class AutogradFunction(Choice):
    name = "autograd_function"
    weight = 16.0
    # How the gradients `found` come from the saved `args` and the `grads` of the results.
    CHOICES = {
        "grad": (
            "with torch.enable_grad():",
            "    leaves = [t.detach().requires_grad_(t.is_floating_point() or t.is_complex()) for t in args]",
            "    made = {region}(*leaves)",
            "pairs = [(r, g) for r, g in zip(made, grads) if r.requires_grad]",
            "wanted = [t for t in leaves if t.requires_grad]",
            "given = ([r for r, _ in pairs], wanted, [g for _, g in pairs])",
            "got = iter(torch.autograd.grad(*given, allow_unused=True) if pairs else [None] * len(wanted))",
            "found = [next(got) if t.requires_grad else None for t in leaves]",
        ),
        "vjp": ("_, pull = torch.func.vjp({region}, *args)", "found = pull(grads)"),
    }

    def fits(self, facts: Facts) -> bool:
        """Results of floats count as differentiable, whatever they come from."""
        plain = facts.pointwise and facts.repeatable and not facts.shared
        there = bool(facts.tensors) and bool(facts.reads) and len(facts.read_tensors) == len(facts.reads)
        return plain and there and all(t.dtype in ("f32", "f64") for t in (*facts.read_tensors, *facts.tensors))

    def write(self, block: Block) -> list[str]:
        if not block.results or not block.given:
            return list(block.lines)
        region, kind = block.fresh("region"), block.fresh("Region")
        names = ", ".join(block.given)
        block.define([f"def {region}({names}):", *indented([*block.detached(""), f"return ({block.returned},)"])])
        forward = ["ctx.save_for_backward(*args)", f"return {region}(*args)"]
        how = [line.format(region=region) for line in self.CHOICES[block.args[0]]]
        backward = ["args = ctx.saved_tensors", *how, "return tuple(found)"]
        methods = ["@staticmethod", "def forward(ctx, *args):", *indented(forward), ""]
        methods += ["@staticmethod", "def backward(ctx, *grads):", *indented(backward)]
        block.define([f"class {kind}(torch.autograd.Function):", *indented(methods)])
        return [f"{block.returned}, = {kind}.apply({names})"]
