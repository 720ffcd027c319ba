"""The region behind Python values that are read from tensors, with lists and objects alive around it. The argument
says how they are read."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, form, indented


@form
class ItemBreak(Choice):
    name = "item_break"
    conditional = True
    # Each is true; {x} is a tensor that says the sizes of what the region reads.
    CHOICES = {
        "item": "({x} >= 0).sum().item() == len({x})",
        "tolist": "all(n >= 0 for n in {x}.tolist())",
        "bool": "bool(({x} >= 0).all())",
        "int": "int({x}.sum()) >= 0",
        "float": "float({x}.sum()) >= 0.0",
        "if": "{x}.ge(0).all()",
        "index": "[3, 4][{x}.sum().ge(0)] == 4",
        "range": "len(range({x}.sum())) >= 0",
        "nonzero": "torch.nonzero({x} + 1).shape[0] == {x}.numel()",
        "equal": "torch.equal({x}, {x})",
        "format": "'{{}}'.format({x}.numel()) == str({x}.numel())",
        "numpy": "({x}.numpy() >= 0).all()",
        "iteration": "[n for n in {x}][0] >= 0",
        "data pointer": "{x}.data_ptr() != 0",
    }

    def write(self, block: Block) -> list[str]:
        sizes = [f"len({name}.shape)" for name, _ in block.tensors] or ["1"]
        alive, x = block.fresh("alive"), block.fresh("sizes")
        lines = [f"{alive} = [{', '.join([*block.params, '3'])}]"]
        lines += [f'{x} = torch.tensor([{", ".join(sizes)}], device="cpu")']
        test = f"if {self.CHOICES[block.args[0]].format(x=x)} and {alive}.pop() == 3:"
        return [*lines, test, *indented(block.lines)]
