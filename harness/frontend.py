"""The C++ compiler's front end over the kernels of a whole batch: are they C++ at all?

The cover tier stops before g++, and so would miss the kernels that do not compile. `g++ -fsyntax-only` over one
translation unit with every kernel of a batch in a namespace of its own finds them: measured 0.25 CPU s a unit plus
0.003 a kernel, against 0.6 for compiling one (most of it instantiates the pending templates of Inductor's header,
once a unit). What is found here is a suspicion: the compare tier, torch's own path, has the last word.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

from ..execution.protocol import ErrorInfo, Failure, Outcome
from .hooks import KERNEL_FILE, Hooks

# g++ that takes longer than this on kernels that took a second to generate is stuck: no verdict then.
SECONDS = 60.0
# What every kernel includes.
INCLUDE = "#include <torch/csrc/inductor/cpp_prefix.h>"
PREFIX = "prefix.h"
_ERROR = re.compile(r"^kernel(\d+):\d+(?::\d+)?: (?:fatal )?error: (.*)$", re.MULTILINE)
ENTRY = re.compile(r'extern "C"\s+(?:__declspec\(dllexport\)\s*)?void\s+kernel\(')


class FrontEnd:
    """Checks kernels in `folder`. Not `available` where the compiler is no g++ or torch's builder is not as known."""

    def __init__(self, hooks: Hooks, folder: Path) -> None:
        self.folder = folder
        self.command = compiler(hooks)
        self.available = bool(self.command)

    def check(self, outcomes: list[Outcome]) -> list[Outcome]:
        """The outcomes; one whose kernel is no C++ has lost its kernels, and become a failure of stage cpp if it was
        ok."""
        kernels = [(i, source) for i, outcome in enumerate(outcomes) for _, source in outcome.kernels]
        checked = list(outcomes)
        if not kernels or not self.available:
            return checked
        errors = self._errors([source for _, source in kernels])
        for number, message in errors.items():
            owner = kernels[number][0]
            if checked[owner].status == "ok":
                checked[owner] = _failed(checked[owner], message)
            checked[owner] = replace(checked[owner], kernels=())
        return checked

    def prepare(self) -> None:
        """Precompile Inductor's header, unless that was done before; without that a check takes 3 s more."""
        precompiled = self.folder / f"{PREFIX}.gch"
        if not self.available or precompiled.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        header, part = self.folder / PREFIX, precompiled.with_suffix(f".{os.getpid()}")
        header.write_text(INCLUDE + "\n")
        self._run([*self.command, "-x", "c++-header", str(header), "-o", str(part)])
        if part.exists():
            part.rename(precompiled)

    def _errors(self, sources: list[str]) -> dict[int, str]:
        """First error of each kernel that has one."""
        includes = {line for source in sources for line in split_includes(source)[0]}
        bodies = [_namespace(i, source) for i, source in enumerate(sources)]
        unit = self.folder / f"unit{os.getpid()}.cpp"
        unit.write_text("\n".join([*sorted(includes - {INCLUDE}), *bodies]))
        try:
            done = self._run([*self.command, "-fsyntax-only", "-include", str(self.folder / PREFIX), str(unit)])
        except subprocess.TimeoutExpired:
            return {}
        finally:
            unit.unlink(missing_ok=True)
        found: dict[int, str] = {}
        for number, message in _ERROR.findall(done.stderr) if done.returncode else []:
            found.setdefault(int(number), message)
        return found

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS, stdin=subprocess.DEVNULL,
            cwd=self.folder, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip


def split_includes(source: str) -> tuple[list[str], str]:
    """The lines of a kernel that include headers, and the rest."""
    lines = source.splitlines()
    body = "\n".join(line for line in lines if not line.startswith("#include"))
    return [line for line in lines if line.startswith("#include")], body


def _namespace(number: int, source: str) -> str:
    """The kernel in a namespace of its own; messages about it name `kernel<number>`. All kernels share the header."""
    _, body = split_includes(source)
    return f'namespace fuzzgraph{number} {{\n#line 1 "kernel{number}"\n{ENTRY.sub("void kernel(", body)}\n}}'


def _failed(outcome: Outcome, message: str) -> Outcome:
    failure = Failure("crash", "exception", "cpp", message, message, (), "CppCompileError", ("CppCompileError",))
    error = ErrorInfo("CppCompileError", message)
    return replace(outcome, status="failure", stage="cpp", failures=(failure,), error=error)


def compiler(hooks: Hooks, linking: bool = False) -> list[str]:
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
