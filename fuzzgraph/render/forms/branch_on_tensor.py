"""The region on both sides of a branch on what a tensor from outside is: its shape, dtype, layout, class.

Both sides are equal, so the branch may go either way; the compiler has to guard on what it asks. The arguments are the
question and a number: of the tensor that is asked, counted from the first that the region reads, and of the dim.
"""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzgraph.render.forms import Block, form, indented

# {x} is the tensor, {d} one of its dims, {n} its number of dims.
QUESTIONS = {
    "size": "{x}.shape[{d}] > 2", "even": "{x}.size({d}) % 2 == 0", "numel": "{x}.numel() >= 8",
    "square": "{x}.shape[0] == {x}.shape[-1]", "dtype": "{x}.dtype == torch.float32",
    "floating": "{x}.is_floating_point()",
    "layout": "{x}.is_contiguous()", "stride": "{x}.stride({d}) == 1", "rank": "len({x}.shape) == {n} or {x}.dim() > 9",
    "class": "isinstance({x}, torch.Tensor)", "device": "{x}.device.type == 'cpu'", "grad": "{x}.requires_grad",
    "hasattr": "hasattr({x}, 'grad_fn')", "getattr": "getattr({x}, 'ndim', 0) == {n}",
    "type": "type({x}) is torch.Tensor",
    "size plus": "({x}.shape + (2,)).numel() > 8", "size slice": "{x}.shape[:1] == {x}.shape[-1:]",
    "size product": "{x}.shape * 2 != {x}.shape", "bytes": "{x}.nbytes // {x}.element_size() > 4",
    "offset": "{x}.storage_offset() == 0", "leaf": "{x}.is_leaf",
    "names": "{x}.dtype in {{torch.float32, torch.int64}}",
    "unpacked": "[*{x}.shape, 1][0] > 1", "size sum": "sum({x}.shape) > 6 and tuple({x}.size()) != ()",
}  # fmt: skip


@form
class BranchOnTensor:
    name = "branch_on_tensor"
    weight = 1.5

    def problem(self, args: tuple[Any, ...]) -> str | None:
        if len(args) == 2 and args[0] in QUESTIONS and type(args[1]) is int and args[1] >= 0:
            return None
        return f"takes one of {', '.join(QUESTIONS)} and a number"

    def sample(self, rng: Random) -> tuple[Any, ...]:
        return (rng.choice(list(QUESTIONS)), rng.randrange(4))

    def write(self, block: Block) -> list[str]:
        """Without a tensor that can be asked, a branch on a Python flag."""
        question, number = block.args
        asked = [(name, kind) for name, kind in block.tensors if kind.rank]
        condition = "len([1]) == 1"
        if asked:
            name, kind = asked[number % len(asked)]
            condition = QUESTIONS[question].format(x=name, d=number % kind.rank, n=kind.rank)
        return [f"if {condition}:", *indented(block.lines), "else:", *indented(block.lines)]
