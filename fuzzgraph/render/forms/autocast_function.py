"""The region as an inner function under the decorator `torch.autocast`. The argument is the dtype; None switches it
off."""

from __future__ import annotations

from random import Random
from typing import Any

import torch

from fuzzgraph.render.forms import Block, form


@form
class AutocastFunction:
    name = "autocast_function"
    weight = 0.6

    def problem(self, args: tuple[Any, ...]) -> str | None:
        if len(args) == 1 and (args[0] is None or isinstance(args[0], torch.dtype)):
            return None
        return "takes one argument, a dtype or None"

    def sample(self, rng: Random) -> tuple[Any, ...]:
        return (rng.choice([torch.bfloat16, torch.bfloat16, torch.float16, None]),)

    def write(self, block: Block) -> list[str]:
        name = block.fresh("inner")
        how = "enabled=False" if block.args[0] is None else f"dtype={block.args[0]}, cache_enabled=False"
        return [f'@torch.autocast("cpu", {how})', *block.inner(name), block.bind(f"{name}()")]
