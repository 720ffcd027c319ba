"""The C++ compiler's front end over the kernels of a whole batch: are they C++ at all?

The cover tier stops before g++, and so would miss the kernels that do not compile. `g++ -fsyntax-only` over one
translation unit with every kernel of a batch in a namespace of its own finds them: measured 0.25 CPU s a unit plus
0.003 a kernel, against 0.6 for compiling one (most of it instantiates the pending templates of Inductor's header,
once a unit). What is found here is a suspicion: the compare tier, torch's own path, has the last word.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

from ..execution.protocol import ErrorInfo, Failure, Outcome
from .compiling import ENTRY, INCLUDE, Compiler, split_includes
from .hooks import Hooks

_ERROR = re.compile(r"^kernel(\d+):\d+(?::\d+)?: (?:fatal )?error: (.*)$", re.MULTILINE)


class FrontEnd:
    """Checks kernels in `folder`; checks nothing where the compiler is not `available`."""

    def __init__(self, hooks: Hooks, folder: Path) -> None:
        self.compiler = Compiler(hooks, folder)

    def check(self, outcomes: list[Outcome]) -> list[Outcome]:
        """The outcomes; one whose kernel is no C++ has lost its kernels, and become a failure of stage cpp if it was
        ok."""
        kernels = [(i, source) for i, outcome in enumerate(outcomes) for _, source in outcome.kernels]
        checked = list(outcomes)
        if not kernels or not self.compiler.available:
            return checked
        errors = self._errors([source for _, source in kernels])
        for number, message in errors.items():
            owner = kernels[number][0]
            if checked[owner].status == "ok":
                checked[owner] = _failed(checked[owner], message)
            checked[owner] = replace(checked[owner], kernels=())
        return checked

    def _errors(self, sources: list[str]) -> dict[int, str]:
        """First error of each kernel that has one."""
        includes = {line for source in sources for line in split_includes(source)[0]}
        bodies = [_namespace(i, source) for i, source in enumerate(sources)]
        unit = self.compiler.folder / f"unit{os.getpid()}.cpp"
        unit.write_text("\n".join([*sorted(includes - {INCLUDE}), *bodies]))
        try:
            done = self.compiler.run("-fsyntax-only", str(unit))
        except subprocess.TimeoutExpired:
            return {}
        finally:
            unit.unlink(missing_ok=True)
        found: dict[int, str] = {}
        for number, message in _ERROR.findall(done.stderr) if done.returncode else []:
            found.setdefault(int(number), message)
        return found


def _namespace(number: int, source: str) -> str:
    """The kernel in a namespace of its own; messages about it name `kernel<number>`. All kernels share the header."""
    _, body = split_includes(source)
    return f'namespace fuzzgraph{number} {{\n#line 1 "kernel{number}"\n{ENTRY.sub("void kernel(", body)}\n}}'


def _failed(outcome: Outcome, message: str) -> Outcome:
    failure = Failure("crash", "exception", "cpp", message, message, (), "CppCompileError", ("CppCompileError",))
    error = ErrorInfo("CppCompileError", message)
    return replace(outcome, status="failure", stage="cpp", failures=(failure,), error=error)
