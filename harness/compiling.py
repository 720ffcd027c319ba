"""Inductor's C++ compiler, its header precompiled, for what is compiled beside torch's own path."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

from .hooks import KERNEL_FILE, Hooks

# g++ that takes longer than this on kernels that took a second to generate is stuck.
SECONDS = 60.0
# What every kernel includes.
INCLUDE = "#include <torch/csrc/inductor/cpp_prefix.h>"
# How a kernel's function begins.
ENTRY = re.compile(r'extern "C"\s+(?:__declspec\(dllexport\)\s*)?void\s+kernel\(')
_PREFIX = "prefix.h"


class Compiler:
    """Compiles in `folder`: by g++'s front end alone, or (`linking`) to a library. Not `available` where the compiler
    is no g++ or torch's builder is not as known."""

    def __init__(self, hooks: Hooks, folder: Path, linking: bool = False) -> None:
        self.folder = folder
        command = _command(hooks, linking)
        self.available = bool(command)
        # Libraries must come behind the source.
        self._libraries = [w for w in command if w.startswith(("-l", "-L"))]
        self._words = [w for w in command if w not in self._libraries]

    def prepare(self) -> None:
        """Precompile Inductor's header, unless that was done before; without that each run takes 3 s more."""
        precompiled = self.folder / f"{_PREFIX}.gch"
        if not self.available or precompiled.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        header, part = self.folder / _PREFIX, precompiled.with_suffix(f".{os.getpid()}")
        header.write_text(INCLUDE + "\n")
        self._start([*(w for w in self._words if w != "-shared"), "-x", "c++-header", str(header), "-o", str(part)])
        if part.exists():
            part.rename(precompiled)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Compile a source, which is among the arguments. Raises subprocess.TimeoutExpired."""
        return self._start([*self._words, "-include", str(self.folder / _PREFIX), *arguments, *self._libraries])

    def _start(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS, stdin=subprocess.DEVNULL,
            cwd=self.folder, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip


def split_includes(source: str) -> tuple[list[str], str]:
    """The lines of a kernel that include headers, and the rest."""
    lines = source.splitlines()
    body = "\n".join(line for line in lines if not line.startswith("#include"))
    return [line for line in lines if line.startswith("#include")], body


def _command(hooks: Hooks, linking: bool) -> list[str]:
    """Inductor's command line for a kernel, less what only optimizes or warns: for the front end alone, or for a
    library. Empty, with a notice, where torch's builder or its compiler is not as known."""
    off = "kernels are compiled one by one" if linking else "kernels are not checked as C++ before they are compiled"
    if hooks.kernel_command is None:
        return []
    try:
        words = shlex.split(hooks.kernel_command())
    except Exception as e:  # private code of torch's: any failure there means that this is off, and says so
        hooks.notices.append(f"{off}: {type(e).__name__}: {e}")
        return []
    if not os.path.basename(words[0]).startswith(("g++", "c++", "x86_64-linux-gnu-g++")):
        hooks.notices.append(f"{off}: {words[0]} is not g++")
        return []
    unwanted = ("-W", "-O", "-g") if linking else ("-W", "-O", "-g", "-l", "-L")
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word.startswith(unwanted) or word == "-pedantic" or (word == "-shared" and not linking):
            skip = False
        elif word == "-o":
            skip = True
        elif word != KERNEL_FILE:
            kept.append(word)
    level = ["-O1", "-g0"] if linking else ["-O0", "-fmax-errors=100", "-fdiagnostics-color=never"]
    return [*kept, "-w", *level]
