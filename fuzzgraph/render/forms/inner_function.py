"""The region as a function defined inside, which is called at once; values from outside are its free variables."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzgraph.render.forms import Block, form, indented


@form
class InnerFunction:
    name = "inner_function"
    weight = 1.0

    def problem(self, args: tuple[Any, ...]) -> str | None:
        return "takes no arguments" if args else None

    def sample(self, rng: Random) -> tuple[Any, ...]:
        return ()

    def write(self, block: Block) -> list[str]:
        name, results = block.fresh("inner"), ", ".join(block.results)
        body = [f"global {g}" for g in block.globals] + [f"nonlocal {r}" for r in block.rebinds] + [*block.lines]
        if results:
            body.append(f"return {results}")
        return [f"def {name}():", *indented(body), f"{results} = {name}()" if results else f"{name}()"]
