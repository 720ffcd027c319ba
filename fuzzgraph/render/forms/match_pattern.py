"""The region in a case of `match` with a pattern. The argument says which."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, around, form, indented


@form
class MatchPattern(Choice):
    name = "match_pattern"
    conditional = True
    # The subject, and the pattern that it matches; names in it are n and rest.
    CHOICES = {
        "class": ("{k}(1, 2)", "{k}(1, n) if n == 2"),
        "class keywords": ("{k}(1, 2)", "{k}(b=2, a=n) if n == 1"),
        "nested": ("[{k}(1, [3]), 4]", "[{k}(b=[n]), int()] if n == 3"),
        "mapping": ("{{'a': 1, 'b': 2}}", "{{'a': 1, **rest}} if rest == {{'b': 2}}"),
        "sequence": ("[1, 2, 3]", "[1, *rest] if len(rest) == 2"),
        "middle": ("(1, 2, 3, 4)", "(1, *_, n) if n == 4"),
        "or": ("2", "1 | 2 | 3"),
        "as": ("'ab'", "str() as n if n[0] == 'a'"),
        "none": ("None", "None"),
        "literal": ("-1.5", "-1.5"),
        "capture": ("5", "n if n > 4"),
        "bool": ("True", "False | True"),
    }

    def write(self, block: Block) -> list[str]:
        kind, names = block.fresh("Point"), {n: block.fresh(n) for n in ("n", "rest")}
        subject, pattern = (text.format(k=kind) for text in self.CHOICES[block.args[0]])
        if kind in subject:
            start = ["def __init__(self, a, b):", "    self.a, self.b = a, b"]
            block.define([f"class {kind}:", *indented(["__match_args__ = ('a', 'b')", "", *start])])
        cases = ["case {'b': 7} | [7]:", "    pass", f"case {pattern}:", "    ..."]
        return around([f"match {subject}:", *indented(cases)], block.lines, names)
