"""Options that several commands have, and what numbers on the command line must be."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any

from fuzzgraph.errors import UsageError
from fuzzgraph.presence import PLUGINS

_WORDS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "count": ("must be at least 1", lambda value: value >= 1),
    # A limit that is no number would never be reached, and timers take no endless one.
    "seconds": ("must be a number of seconds above 0", lambda value: 0 < value < 1e9),
    "budget": ("must be a number of seconds, 0 for no limit", lambda value: 0 <= value < 1e9),
}


def add_plugin(parser: Any) -> None:
    """The option that `main` reads before the command runs."""
    parser.add_argument(
        "--plugin", action="append", metavar="DIR",
        help=f"folder with further rules, mutators, oracles, forms, ... (or name it in {PLUGINS})",
    )  # fmt: skip


def check_numbers(args: argparse.Namespace, **kinds: str) -> None:
    """`kinds` says for each option what it is: count, seconds, budget. Raises UsageError naming the first bad one."""
    for name, kind in kinds.items():
        words, holds = _WORDS[kind]
        if not holds(getattr(args, name)):
            raise UsageError(words, where=f"--{name.replace('_', '-')}")


def check_preload(files: Sequence[str] | None) -> None:
    """Raises UsageError for the first that is no file: before a harness is started that could not run it."""
    for file in files or ():
        if not os.path.isfile(file):
            raise UsageError("no such file", where=f"--preload {file}")
