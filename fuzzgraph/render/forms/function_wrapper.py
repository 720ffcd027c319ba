"""The region as an inner function under a decorator of the library or one that is made for it. The argument says
which."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, form


@form
class FunctionWrapper(Choice):
    name = "function_wrapper"
    weight = 1.5
    # Definitions at module level, of {d}, and the line of the decorator.
    CHOICES = {
        "wraps": (
            ("def {d}(f):", "    @functools.wraps(f)", "    def wrapped(*args, **kwargs):",
             "        return f(*args, **kwargs)", "", "    return wrapped"),
            "@{d}",
        ),
        "arguments": (
            ("def {d}(n, *, flag=False):", "    def decorate(f):", "        return lambda: f() if n and flag else None",
             "", "    return decorate"),
            "@{d}(2, flag=True)",
        ),
        "class": (
            ("class {d}:", "    def __init__(self, f):", "        self.f = f", "", "    def __call__(self):",
             "        return self.f()"),
            "@{d}",
        ),
        "context": (
            ("class {d}(contextlib.ContextDecorator):", "    def __enter__(self):", "        return self", "",
             "    def __exit__(self, *exc):", "        return False"),
            "@{d}()",
        ),
        "twice": (("def {d}(f):", "    return lambda: f()"), "@{d}\n@{d}"),
        "attribute": (("def {d}(f):", "    f.tag = 1", "    return f"), "@{d}"),
        "same grad": ((), "@torch.set_grad_enabled(torch.is_grad_enabled())"),
        "nothing": ((), "@(lambda f: f)"),
        "cache": ((), "@functools.lru_cache(maxsize=None)"),
        "single dispatch": (
            ("@functools.singledispatch", "def {d}(f):", "    return f", "", "", "@{d}.register", "def _(f: int):",
             "    return None"),
            "@{d}",
        ),
    }  # fmt: skip

    def write(self, block: Block) -> list[str]:
        name, decorate = block.fresh("inner"), block.fresh("decorate")
        define, line = self.CHOICES[block.args[0]]
        imports = [f"import {m}" for m in ("functools", "contextlib") if m in "".join([*define, line])]
        if define:
            block.define([*imports, *["", ""] * bool(imports), *(text.format(d=decorate) for text in define)])
        inside = imports if not define else []
        return [*inside, *line.format(d=decorate).split("\n"), *block.inner(name), block.bind(f"{name}()")]
