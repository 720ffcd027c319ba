"""The region in a branch on an attribute that is set before. The argument says whose."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, form, indented


@form
class AttributeFlag(Choice):
    name = "attribute_flag"
    conditional = True
    # What makes the object, and what is asked of it.
    CHOICES = {
        "instance": ("{k}()", "{o}.on and {o}.n == 1"),
        "class": ("{k}", "{o}.on and not hasattr({o}, 'off')"),
        "function": ("lambda: 1", "{o}.on == 1 and {o}() == 1"),
        "getattr": ("{k}()", "getattr({o}, 'on') and getattr({o}, 'off', 3) == 3"),
        "deleted": ("{k}()", "{o}.on and (delattr({o}, 'on') or not {o}.on)"),
        "dict": ("{k}()", "{o}.__dict__ == {{'on': True}}"),
        "isinstance": ("{k}()", "isinstance({o}, {k}) and not isinstance({o}, (int, str)) and type({o}) is {k}"),
        "tensor": ("torch.zeros(())", "{o}.on"),
    }

    def write(self, block: Block) -> list[str]:
        kind, this = block.fresh("Flags"), block.fresh("flags")
        made, question = (text.format(k=kind, o=this) for text in self.CHOICES[block.args[0]])
        if kind in made:
            block.define([f"class {kind}:", "    on = False", "    n = 1"])
        lines = [f"{this} = {made}", f"{this}.on = True", f"if {question}:", *indented(block.lines)]
        return [*lines, *([f"{this}.on = False"] if made == kind else [])]
