"""`with torch.no_grad():` around a region."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzzgraph.render.forms import Block, form, indented


@form
class NoGrad:
    name = "no_grad"
    weight = 1.0

    def problem(self, args: tuple[Any, ...]) -> str | None:
        return "takes no arguments" if args else None

    def sample(self, rng: Random) -> tuple[Any, ...]:
        return ()

    def write(self, block: Block) -> list[str]:
        return ["with torch.no_grad():", *indented(block.lines)]
