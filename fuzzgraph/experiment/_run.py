"""Campaigns as processes of their own, so that what is measured is what a user runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuzzgraph.errors import FuzzgraphError, UsageError
from fuzzgraph.resources import environment


def command(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "fuzzgraph", *arguments]


def start(arguments: Sequence[str], one_core: bool = False, **options: Any) -> subprocess.Popen[str]:
    """Start `fuzzgraph ARGUMENTS`; `one_core` pins it and all its descendants to one core."""
    def pin() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    return subprocess.Popen(
        command(arguments), env=environment(), text=True, preexec_fn=pin if one_core else None, **options
    )


def campaign(arguments: Sequence[str], one_core: bool = False) -> None:
    """Run `fuzzgraph fuzz ARGUMENTS` to its end, its output on stderr. Raises FuzzgraphError where it fails."""
    process = start(["fuzz", *arguments], one_core, stdout=sys.stderr)
    if process.wait() != 0:
        raise FuzzgraphError(f"the campaign ended with exit status {process.returncode}")


def read_json(path: Path) -> Any:
    """What a file of an earlier run holds. Raises UsageError where it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"not readable: {error}", where=str(path), hint="begin anew elsewhere") from error


def report(main: Any, argv: Sequence[str] | None = None) -> int:
    """Run a script's `main(argv)`; errors that a user can mend are one line on stderr."""
    try:
        return int(main(argv))
    except KeyboardInterrupt:
        return 130
    except FuzzgraphError as error:
        print(f"fuzzgraph: {' '.join(str(error).split())}", file=sys.stderr)
        return error.exit_status
