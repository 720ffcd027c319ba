"""The region as the `forward` of an `nn.Module`. The argument says what is around it."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, Facts, form, indented


@form
class ModuleForward(Choice):
    name = "module_forward"
    # Lines behind the class at module level, which name the instance: {m} is its name, {k} its class.
    CHOICES = {
        "plain": ("{m} = {k}()",),
        "eval": ("{m} = {k}().eval()",),
        "hooks": (
            "{m} = {k}()",
            "{m}.register_forward_pre_hook(lambda module, args: args)",
            "{m}.register_forward_hook(lambda module, args, output: output)",
        ),
        "sequential": ("{m} = torch.nn.Sequential(torch.nn.Identity(), {k}(), torch.nn.Identity())",),
        "list": ("{m} = torch.nn.ModuleList([{k}()])[0]",),
        "child": ("{m} = torch.nn.ModuleDict({{'child': {k}()}}).child",),
    }

    def fits(self, facts: Facts) -> bool:
        return facts.movable

    def write(self, block: Block) -> list[str]:
        kind, module, args = block.fresh("Region"), block.fresh("module"), block.fresh("args")
        unpacked = [f"{', '.join(block.given)}, = {args}"] if block.given else []
        start = ["super().__init__()", 'self.register_buffer("scale", torch.ones(2))']
        methods = ["def __init__(self):", *indented(start), "", f"def forward(self, {args}):"]
        methods += indented([*unpacked, *block.detached()])
        block.define([f"class {kind}(torch.nn.Module):", *indented(methods)])
        block.define([line.format(m=module, k=kind) for line in self.CHOICES[block.args[0]]])
        given = ", ".join(block.given)
        return [block.bind(f"{module}(({given},))" if given else f"{module}(())")]
