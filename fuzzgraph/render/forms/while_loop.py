"""The region in the body of torch's `while_loop`, which runs once and carries a counter and the results."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Facts, Plain, form, indented


@form
class WhileLoop(Plain):
    name = "while_loop"
    weight = 1.4

    def fits(self, facts: Facts) -> bool:
        return facts.functional and facts.separate

    def write(self, block: Block) -> list[str]:
        """What the first call gives says no more than what zeros are to start from."""
        name, n = block.fresh("inner"), block.fresh("n")
        lines = [f"def {name}():", *indented([*block.body(""), f"return {block.copies}"]), block.bind(f"{name}()")]
        zeros = ", ".join(f"torch.zeros_like({r})" for r in block.results)
        step, going, carried = block.fresh("step"), block.fresh("going"), f"{n}, {block.returned}"
        loop = ["from torch._higher_order_ops import while_loop"]
        loop += [f"def {going}({carried}):", *indented([f"return {n} < 1"])]
        loop += [f"def {step}({carried}):", *indented([block.bind(f"{name}()"), f"return {n} + 1, {block.returned}"])]
        start = f"(torch.zeros((), dtype=torch.int64), {zeros})"
        loop += [f"{carried} = while_loop({going}, {step}, {start})"]
        return [*lines, "if torch.compiler.is_compiling():", *indented(loop)]
