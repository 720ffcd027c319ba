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
_INCLUDE = "#include <torch/csrc/inductor/cpp_prefix.h>"
_PREFIX = "prefix.h"
_ERROR = re.compile(r"^kernel(\d+):\d+(?::\d+)?: (?:fatal )?error: (.*)$", re.MULTILINE)
_ENTRY = re.compile(r'extern "C"\s+(?:__declspec\(dllexport\)\s*)?void\s+kernel\(')


class FrontEnd:
    """Checks kernels in `folder`. Not `available` where the compiler is no g++ or torch's builder is not as known."""

    def __init__(self, hooks: Hooks, folder: Path) -> None:
        self.folder = folder
        self.command = _command(hooks)
        self.available = bool(self.command)

    def check(self, outcomes: list[Outcome]) -> list[Outcome]:
        """The outcomes without their kernels; an ok one whose kernel is no C++ has become a failure of stage cpp."""
        kernels = [(i, source) for i, outcome in enumerate(outcomes) for source in outcome.kernels]
        bare = [replace(outcome, kernels=()) for outcome in outcomes]
        if not kernels or not self.available:
            return bare
        errors = self._errors([source for _, source in kernels])
        for number, message in errors.items():
            owner = kernels[number][0]
            if bare[owner].status == "ok":
                bare[owner] = _failed(bare[owner], message)
        return bare

    def prepare(self) -> None:
        """Precompile Inductor's header, unless that was done before; without that a check takes 3 s more."""
        precompiled = self.folder / f"{_PREFIX}.gch"
        if not self.available or precompiled.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        header, part = self.folder / _PREFIX, precompiled.with_suffix(f".{os.getpid()}")
        header.write_text(_INCLUDE + "\n")
        self._run([*self.command, "-x", "c++-header", str(header), "-o", str(part)])
        if part.exists():
            part.rename(precompiled)

    def _errors(self, sources: list[str]) -> dict[int, str]:
        """First error of each kernel that has one."""
        includes = {line for source in sources for line in source.splitlines() if line.startswith("#include")}
        bodies = [_namespace(i, source) for i, source in enumerate(sources)]
        unit = self.folder / f"unit{os.getpid()}.cpp"
        unit.write_text("\n".join([*sorted(includes - {_INCLUDE}), *bodies]))
        try:
            done = self._run([*self.command, "-fsyntax-only", "-include", str(self.folder / _PREFIX), str(unit)])
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


def _namespace(number: int, source: str) -> str:
    """The kernel in a namespace of its own; messages about it name `kernel<number>`. All kernels share the header."""
    body = "\n".join(line for line in source.splitlines() if not line.startswith("#include"))
    return f'namespace fuzzgraph{number} {{\n#line 1 "kernel{number}"\n{_ENTRY.sub("void kernel(", body)}\n}}'


def _failed(outcome: Outcome, message: str) -> Outcome:
    failure = Failure("crash", "exception", "cpp", message, message, (), "CppCompileError", ("CppCompileError",))
    error = ErrorInfo("CppCompileError", message)
    return replace(outcome, status="failure", stage="cpp", failures=(failure,), error=error)


def _command(hooks: Hooks) -> list[str]:
    """Inductor's command line for a kernel, less what only code generation and linking need."""
    if hooks.kernel_command is None:
        return []
    try:
        words = shlex.split(hooks.kernel_command())
    except Exception as e:  # private code of torch's: any failure there means that this check is off, and says so
        hooks.notices.append(f"kernels are not checked as C++ before they are compiled: {type(e).__name__}: {e}")
        return []
    if not os.path.basename(words[0]).startswith(("g++", "c++", "x86_64-linux-gnu-g++")):
        hooks.notices.append(f"kernels are not checked as C++ before they are compiled: {words[0]} is not g++")
        return []
    kept: list[str] = []
    skip = False
    for word in words:
        if skip or word == "-shared" or word.startswith(("-l", "-L", "-W", "-O", "-g")) or word == "-pedantic":
            skip = False
        elif word == "-o":
            skip = True
        elif word != KERNEL_FILE:
            kept.append(word)
    return [*kept, "-w", "-O0", "-fmax-errors=100", "-fdiagnostics-color=never"]
