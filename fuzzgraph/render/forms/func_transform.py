"""The region under a transform of `torch.func`, of which its value is taken. The argument says which."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, Facts, form, indented


@form
class FuncTransform(Choice):
    name = "func_transform"
    weight = 6.0
    # {f} is the region as a function of {x}, {r} its results, {s} a function of {x} that gives a loss and the results.
    CHOICES = {
        "vjp": "{r}, {rest} = torch.func.vjp({f}, {x})",
        "jvp": "{r}, {rest} = torch.func.jvp({f}, ({x},), (torch.ones_like({x}),))",
        "linearize": "{r}, {rest} = torch.func.linearize({f}, {x})",
        "grad_and_value": "{rest}, (_, {r}) = torch.func.grad_and_value({s}, has_aux=True)({x})",
        "grad": "{rest}, {r} = torch.func.grad({s}, has_aux=True)({x})",
    }

    def fits(self, facts: Facts) -> bool:
        plain = facts.pointwise and facts.functional
        floats = bool(facts.tensors) and all(t.info.kind == "float" for t in facts.tensors)
        first = facts.read_tensors[:1]
        return plain and floats and not facts.shared and bool(first) and first[0].info.kind == "float"

    def write(self, block: Block) -> list[str]:
        x = block.first
        if not x or not block.results:
            return list(block.lines)
        name, loss, rest = block.fresh("inner"), block.fresh("loss"), block.fresh("rest")
        lines = block.inner(name, x)
        template = self.CHOICES[block.args[0]]
        if "{s}" in template:
            body = [block.bind(f"{name}({x})"), f"return {block.results[0]}.sum(), {block.group}"]
            lines += [f"def {loss}({x}):", *indented(body)]
        return [*lines, template.format(f=name, s=loss, x=x, r=block.group, rest=rest)]
