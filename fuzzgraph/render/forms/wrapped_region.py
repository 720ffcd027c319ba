"""The region as the function of an operator that does no more than call it. The argument says which."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, Facts, form, indented


@form
class WrappedRegion(Choice):
    name = "wrapped_region"
    weight = 0.6
    CHOICES = {
        "wrap": ("from torch._higher_order_ops.wrap import wrap", "wrap({f})"),
        "strict_mode": ("from torch._higher_order_ops.strict_mode import strict_mode", "strict_mode({f}, ())"),
    }

    def fits(self, facts: Facts) -> bool:
        return facts.functional and facts.separate

    def write(self, block: Block) -> list[str]:
        name = block.fresh("inner")
        lines = [f"def {name}():", *indented(block.body())]
        imported, call = self.CHOICES[block.args[0]]
        return [*lines, *block.while_compiling([imported, block.bind(call.format(f=name))], f"{name}()")]
