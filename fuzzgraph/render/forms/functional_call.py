"""The region as the `forward` of an `nn.Module` whose buffers are replaced by what it reads."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Facts, Plain, form, indented


@form
class FunctionalCall(Plain):
    name = "functional_call"
    weight = 1.4

    def fits(self, facts: Facts) -> bool:
        return facts.movable and not facts.writes and bool(facts.read_tensors)

    def write(self, block: Block) -> list[str]:
        kind, module = block.fresh("Region"), block.fresh("module")
        tensors = [name for name, _ in block.tensors if name in block.given]
        others = [name for name in block.given if name not in tensors]
        start = ["super().__init__()", *(f'self.register_buffer("of_{n}", torch.zeros(()))' for n in tensors)]
        body = [*(f"{n} = self.of_{n}" for n in tensors), *block.detached()]
        methods = ["def __init__(self):", *indented(start), "", f"def forward({', '.join(['self', *others])}):"]
        block.define([f"class {kind}(torch.nn.Module):", *indented([*methods, *indented(body)])])
        block.define([f"{module} = {kind}()"])
        values = "{" + ", ".join(f'"of_{n}": {n}' for n in tensors) + "}"
        given = f"({', '.join(others)}{',' * (len(others) == 1)})"
        return [block.bind(f"torch.func.functional_call({module}, {values}, {given})")]
