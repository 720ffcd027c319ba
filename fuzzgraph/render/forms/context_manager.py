"""The region under a context manager of Python. The argument says how that is written."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, around, form


@form
class ContextManager(Choice):
    name = "context_manager"
    weight = 1.5
    # What is defined at module level, under the name {k}, and the `with` that opens; `...` is the region.
    CHOICES = {
        "generator": (
            ("@contextlib.contextmanager", "def {k}():", "    try:", "        yield 3", "    finally:", "        pass"),
            ("with {k}() as n:", "    if n == 3:", "        ..."),
        ),
        "generator twice": (
            ("@contextlib.contextmanager", "def {k}(n):", "    yield n + 1"),
            ("with {k}(1) as n, {k}(n) as m:", "    if (n, m) == (2, 3):", "        ..."),
        ),
        "class": (
            ("class {k}:", "    n = 0", "", "    def __enter__(self):", "        self.n = 1", "        return self", "",
             "    def __exit__(self, *exc):", "        self.n = 0"),
            ("with {k}() as scope:", "    if scope.n:", "        ..."),
        ),
        "swallowing": (
            ("class {k}:", "    def __enter__(self):", "        return self", "",
             "    def __exit__(self, kind, error, trace):", "        return kind is KeyError"),
            ("with {k}():", "    ...", "    raise KeyError"),
        ),
        "suppress": ((), ("with contextlib.suppress(KeyError):", "    ...", "    {{}}['a']")),
        "null": ((), ("with contextlib.nullcontext(3) as n:", "    ...")),
        "stack": (
            (),
            ("with contextlib.ExitStack() as stack:", "    stack.enter_context(contextlib.nullcontext())", "    ..."),
        ),
        "callback": ((), ("with contextlib.ExitStack() as stack:", "    stack.callback(len, [])", "    ...")),
        "closing": (
            ("class {k}:", "    def close(self):", "        pass"), ("with contextlib.closing({k}()):", "    ..."),
        ),
        "grad stack": (
            (), ("with contextlib.ExitStack() as stack:", "    stack.enter_context(torch.enable_grad())", "    ..."),
        ),
    }  # fmt: skip

    def write(self, block: Block) -> list[str]:
        names = {n: block.fresh(n) for n in ("n", "m", "stack", "scope")}
        kind = block.fresh("Scope")
        define, opens = self.CHOICES[block.args[0]]
        if define:
            imports = ["import contextlib", "", ""] if "contextlib" in define[0] else []
            block.define([*imports, *(line.format(k=kind) for line in define)])
        imports = ["import contextlib"] if "contextlib" in "".join(opens) else []
        return [*imports, *around([line.format(k=kind) for line in opens], block.lines, names)]
