"""Named random streams: all randomness of a campaign comes from one seed."""

from __future__ import annotations

import hashlib
import random


class Streams:
    """Random streams derived from one seed.

    `stream(name, *keys)` is a pure function of (seed, name, keys): equal arguments give streams that draw equal
    numbers in every process, different ones give independent streams (SHA-256 of the three).
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def stream(self, name: str, *keys: int | str) -> random.Random:
        text = "\x1f".join([str(self.seed), name, *map(str, keys)])
        return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little"))
