"""The region in a generator that is driven by more than `next`. The argument says how."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, form, indented


@form
class GeneratorProtocol(Choice):
    name = "generator_protocol"
    weight = 1.5
    # What the generator {g} does around the region as a call of {f}, and the lines behind which {out} is its result.
    CHOICES = {
        "send": (("n = yield", "yield {f}() if n == 3 else None"), ("next({m})", "{out} = {m}.send(3)")),
        "close": (
            ("try:", "    yield {f}()", "finally:", "    {log}.append(1)"),
            ("{out} = next({m})", "{m}.close()", "assert {log} == [1]"),
        ),
        "throw": (
            ("try:", "    yield 1", "except KeyError:", "    yield {f}()"),
            ("next({m})", "{out} = {m}.throw(KeyError())"),
        ),
        "return": (
            ("return {f}()", "yield"),
            ("try:", "    next({m})", "except StopIteration as end:", "    {out} = end.value"),
        ),
        "yield from": (("made = yield from [1, 2]", "yield {f}()"), ("*_, {out} = {m}",)),
        "early": (("yield {f}()", "raise ValueError"), ("for {out} in {m}:", "    break")),
        "list": (("for n in range(3):", "    if n == 1:", "        yield {f}()"), ("[{out}] = [*{m}]",)),
        "default": (("yield {f}()",), ("{out} = next({m}, None)", "assert next({m}, 5) == 5")),
    }

    def write(self, block: Block) -> list[str]:
        name, made, out, log = block.fresh("inner"), block.fresh("made"), block.fresh("out"), block.fresh("log")
        generator = block.fresh("generator")
        inside, drive = self.CHOICES[block.args[0]]
        body = [line.format(f=name, log=log) for line in inside]
        lines = [*block.inner(name), f"{log} = []", f"def {generator}():", *indented(body), f"{made} = {generator}()"]
        lines += [line.format(m=made, out=out, log=log) for line in drive]
        return [*lines, *([block.bind(out)] if block.results else [])]
