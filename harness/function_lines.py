"""Counts the function-body lines of the compiler that Python programs reach.

`python -m fuzzgraph.harness.function_lines` reads one JSON object on stdin: `programs` ([path, steps], where steps is a
list of argument lists), `trivial` (whether to run that one first), `out`. It executes each program in this interpreter,
as `__main__`, once for each list of arguments, with `torch._dynamo.reset()` between programs. After each it writes to
the file `out` a JSON object: `imports` and `lines` (lists of [file, line]), `programs` (verdicts).

A program counts where its reference runs: its first step ends well, or it said "eager" before it failed (what
fuzzers print once the eager run is through). Lines of others are taken back.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
import time
from typing import Any

FOLDERS = ("_inductor/", "_dynamo/", "_functorch/", "_decomp/")
# coverage.py and debuggers have the lower ones.
TOOL = 4
# Functions have it, module and class bodies do not: those run once, at import.
CO_OPTIMIZED = 1

Line = tuple[str, int]


class Recorder:
    """Lines hit since it was made; each place reports once, so it costs about 3 %."""

    def __init__(self) -> None:
        self.lines: set[Line] = set()
        self.fresh: set[Line] = set()
        monitoring = sys.monitoring
        monitoring.use_tool_id(TOOL, "fuzzgraph function lines")
        monitoring.register_callback(TOOL, monitoring.events.LINE, self._line)
        monitoring.set_events(TOOL, monitoring.events.LINE)

    def _line(self, code: Any, line: int) -> Any:
        if code.co_flags & CO_OPTIMIZED:
            name = code.co_filename
            start = name.find("/torch/_")
            if start >= 0 and name.startswith(FOLDERS, start + 7):
                self.fresh.add((name[start + 7 :], line))
        return sys.monitoring.DISABLE

    def keep(self) -> int:
        """Count the lines since last asked; return how many are new."""
        new = len(self.fresh - self.lines)
        self.lines |= self.fresh
        self.fresh = set()
        return new

    def drop(self) -> None:
        """Take them back: they must be seen again when a program that counts reaches them."""
        self.fresh = set()
        sys.monitoring.restart_events()


def trivial() -> None:
    """What the count starts from: `x + 1`, dynamic shapes, backward."""
    import torch

    x = torch.randn(8, requires_grad=True)
    torch.compile(lambda a: a + 1, dynamic=True)(x).sum().backward()


def run_step(path: str, arguments: list[str]) -> tuple[str, str]:
    """(what went wrong or "", what it printed)"""
    said = io.StringIO()
    sys.argv = [path, *arguments]
    wrong = ""
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            with open(path, encoding="utf-8") as file:
                exec(compile(file.read(), path, "exec"), {"__name__": "__main__", "__file__": path})
        except SystemExit as error:
            wrong = "" if not error.code else f"exit status {error.code}"
        except BaseException as error:
            wrong = f"{type(error).__name__}: {str(error)[:200]}"
    return wrong, said.getvalue()


def run_program(path: str, steps: list[list[str]], recorder: Recorder) -> dict[str, Any]:
    import torch

    before, counts, wrong = cpu(), False, ""
    for number, arguments in enumerate(steps):
        wrong, said = run_step(path, arguments)
        if number == 0:
            counts = not wrong or "eager" in said.lower()
            if not counts:
                break
    if counts:
        new = recorder.keep()
    else:
        recorder.drop()
        new = 0
    torch._dynamo.reset()
    return {"path": path, "counts": counts, "new": new, "wrong": wrong, "cpu": round(cpu() - before, 2)}


def cpu() -> float:
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + below.ru_utime + below.ru_stime


def main() -> int:
    order = json.load(sys.stdin)
    recorder = Recorder()
    import torch._decomp
    import torch._dynamo
    import torch._functorch.aot_autograd
    import torch._inductor.compile_fx  # noqa: F401

    recorder.keep()
    report: dict[str, Any] = {"imports": sorted(recorder.lines), "programs": [], "lines": []}
    if order.get("trivial"):
        trivial()
        recorder.keep()
    for path, steps in order["programs"]:
        report["programs"].append(run_program(path, steps, recorder))
        report["lines"] = sorted(recorder.lines)
        write(order["out"], report)
    report["lines"] = sorted(recorder.lines)
    write(order["out"], report)
    return 0


def write(path: str, report: dict[str, Any]) -> None:
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(report, file)
    os.replace(path + ".part", path)


if __name__ == "__main__":
    sys.exit(main())
