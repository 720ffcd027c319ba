"""The region where an exception that is raised and caught leads. The argument says how."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, around, form, indented


@form
class ExceptionFlow(Choice):
    name = "exception_flow"
    conditional = True
    weight = 2.0
    # {E} is an exception class of its own; the region stands at the line `...`.
    CHOICES = {
        "custom": (
            "try:", "    raise {E}(1, n=2)", "except {E} as e:", "    if e.n == 2 and e.args == (1,):", "        ...",
        ),
        "base": ("try:", "    raise {E}(1)", "except (KeyError, ValueError):", "    ..."),
        "nested": (
            "try:", "    try:", "        raise {E}(1)", "    except KeyError:", "        pass",
            "except {E}:", "    ...",
        ),
        "again": (
            "try:", "    try:", "        raise KeyError(1)", "    except KeyError:", "        raise",
            "except LookupError:", "    ...",
        ),
        "from": (
            "try:", "    try:", "        raise KeyError(1)", "    except KeyError as e:", "        raise {E}(2) from e",
            "except {E} as e:", "    if isinstance(e.__cause__, KeyError):", "        ...",
        ),
        "context": (
            "try:", "    try:", "        raise KeyError(1)", "    finally:", "        raise {E}(2)",
            "except {E} as e:", "    if type(e.__context__) is KeyError:", "        ...",
        ),
        "else": ("try:", "    pass", "except {E}:", "    raise", "else:", "    ..."),
        "finally": ("try:", "    pass", "finally:", "    ..."),
        "else finally": ("try:", "    pass", "except {E}:", "    pass", "else:", "    ...", "finally:", "    pass"),
        "before": ("try:", "    ...", "    raise {E}(1)", "except {E}:", "    pass"),
        "key": ("try:", "    {{}}['a']", "except KeyError as e:", "    if e.args == ('a',):", "        ..."),
        "index": ("try:", "    [1, 2][5]", "except IndexError:", "    ..."),
        "attribute": ("try:", "    {E}.nothing", "except AttributeError:", "    ..."),
        "division": ("try:", "    1 // 0", "except ArithmeticError:", "    ..."),
        "conversion": ("try:", "    int('a')", "except ValueError:", "    ..."),
        "assertion": (
            "try:", "    assert not 1, 'one'", "except AssertionError as e:", "    if str(e) == 'one':", "        ...",
        ),
        "stop": ("try:", "    next(iter([]))", "except StopIteration:", "    ..."),
        "loop": (
            "for _ in range(2):", "    try:", "        continue", "    finally:", "        pass", "else:", "    ...",
        ),
        "group": ("try:", "    raise ExceptionGroup('two', [{E}(1), KeyError(2)])", "except* KeyError:", "    pass",
                  "except* {E}:", "    ..."),
    }  # fmt: skip

    def write(self, block: Block) -> list[str]:
        kind = block.fresh("Problem")
        method = ["def __init__(self, *args, n=0):", "    super().__init__(*args)", "    self.n = n"]
        construct = [line.format(E=kind) for line in self.CHOICES[block.args[0]]]
        if kind in "".join(construct):
            block.define([f"class {kind}(ValueError):", *indented(method)])
        return around(construct, block.lines)
