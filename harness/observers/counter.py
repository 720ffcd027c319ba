"""Names of torch's own compile counters: graph breaks by reason, passes that fired, fallbacks, graphs compiled.

Names, not values: a value says how often, which grows with the program and not with what is new in it.
"""

from __future__ import annotations

import re

# A reason may quote the program; this much tells reasons apart.
_NAME = 160
_VARIES = re.compile(r"0x[0-9a-f]+|\d+|\"[^\"]*\"|'[^']*'|<[^>]*>")


def start() -> None:
    return


def freeze(more: list[str] | None) -> None:
    return


def _counters():
    import torch._dynamo.utils

    return torch._dynamo.utils.counters


def begin(full: bool) -> None:
    _counters().clear()


def end() -> list[str]:
    names = set()
    for group, counter in _counters().items():
        for key, value in counter.items():
            if value:
                names.add(f"{group}:{_VARIES.sub('#', str(key).split(chr(10), 1)[0])[:_NAME]}")
    return sorted(names)
