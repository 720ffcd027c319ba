"""What must be there before any work: a torch that is supported, a C++ compiler, room on the disk."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from fuzzgraph.errors import EnvironmentProblem
from fuzzgraph.torch_compat import check_torch

# A campaign writes some hundred MB a day; the compiler's caches of a session take as much again.
FREE_BYTES = 1 << 30


def check(directory: Path) -> None:
    """Raise EnvironmentProblem naming what is missing. Imports nothing, so it takes no time."""
    check_torch()
    check_compiler()
    check_disk(directory)


def check_compiler() -> None:
    named = shlex.split(os.environ.get("CXX", ""))
    if named and shutil.which(named[0]) is None:
        raise EnvironmentProblem(f"the C++ compiler {named[0]!r} is not there", where="CXX", hint="unset or mend CXX")
    if not named and shutil.which("g++") is None:
        raise EnvironmentProblem("no C++ compiler: Inductor needs one", hint="install g++, or name one in CXX")


def check_disk(directory: Path) -> None:
    there = directory
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free
    if free < FREE_BYTES:
        raise EnvironmentProblem(
            f"{free / 1e9:.1f} GB free, a campaign needs {FREE_BYTES / 1e9:.1f}", where=str(there), hint="free some"
        )
