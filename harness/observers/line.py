"""Lines of torch's compiler that ran: lines in function bodies only, module and class bodies left out.

Python >= 3.12: `sys.monitoring` LINE events, each disabled after its first hit, which costs about 3 % of a compile's
Python time. The flags survive a fork, so a child reports what is new since import and warm-up; `full` turns all
events on again (55 %).
Python 3.11: coverage.py's C tracer (65-85 %), reduced to function bodies and by the baseline.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable
from functools import cache
from typing import Any

# What counts as the compiler: docs/architecture.md. With a slash where a prefix could match a neighbour.
FOLDERS = (
    "_dynamo/", "_inductor/", "_functorch/", "_decomp/", "_refs/", "_prims/", "_higher_order_ops/", "fx/", "_export/",
    "_subclasses/", "utils/_sympy/",
)  # fmt: skip
CO_OPTIMIZED = 1  # inspect.CO_OPTIMIZED: the code of a function, not of a module or a class

_hits: dict[str, set[int]] = {}
_baseline: dict[str, set[int]] = {}
_full = False


def _torch_root() -> str:
    """The folder of torch with a slash at its end, found without importing it."""
    import importlib.util

    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise ImportError("there is no torch")
    return os.path.dirname(spec.origin) + "/"


class _Monitoring:
    """sys.monitoring, one tool, all code."""

    def __init__(self) -> None:
        monitoring = sys.monitoring
        tool = next(t for t in (monitoring.COVERAGE_ID, 3, 4) if monitoring.get_tool(t) is None)
        monitoring.use_tool_id(tool, "fuzzgraph")
        monitoring.register_callback(tool, monitoring.events.LINE, _line_callback(_torch_root(), _hits))
        monitoring.set_events(tool, monitoring.events.LINE)

    def begin(self, full: bool) -> None:
        if full:
            sys.monitoring.restart_events()

    def collect(self) -> None:
        """Nothing to do: the callback writes where it must."""

    def pause(self) -> None:
        """Nothing to do: what has fired costs nothing."""


def _line_callback(root: str, hits: dict[str, set[int]]) -> Callable[[types.CodeType, int], Any]:
    """What is called for each line's first execution. All it needs is local: it may run while modules are torn down."""
    disable, optimized, folders, start = sys.monitoring.DISABLE, CO_OPTIMIZED, FOLDERS, len(root)
    relative: dict[str, str] = {}

    def on_line(code: types.CodeType, line: int) -> Any:
        if code.co_flags & optimized:
            name = code.co_filename
            file = relative.get(name)
            if file is None:
                # Generated functions have names such as "subclass_codegen.py:codegen(backward)".
                inside = name.startswith(root) and name.startswith(folders, start) and name.endswith(".py")
                file = relative[name] = name[start:] if inside else ""
            if file:
                lines = hits.get(file)
                if lines is None:
                    lines = hits[file] = set()
                lines.add(line)
        return disable

    return on_line


class _Tracer:
    """coverage.py's C tracer, for Pythons without sys.monitoring."""

    def __init__(self) -> None:
        import coverage

        self.root = _torch_root()
        include = [f"{self.root}{folder}*" for folder in FOLDERS]
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=include, messages=False)
        self.coverage.start()

    def begin(self, full: bool) -> None:
        self.coverage.erase()
        self.coverage.start()

    def pause(self) -> None:
        self.coverage.stop()

    def collect(self) -> None:
        """Move what was traced into `_hits`."""
        self.coverage.stop()
        data = self.coverage.get_data()
        for name in data.measured_files():
            lines = set(data.lines(name) or ()) & _function_lines(name)
            if lines:
                _hits.setdefault(name[len(self.root) :], set()).update(lines)


@cache
def _function_lines(path: str) -> frozenset[int]:
    """Lines inside function bodies of a source file, `def` lines of outermost functions left out. None of code that
    was generated under a name that is no file."""
    if not os.path.isfile(path):
        return frozenset()
    with open(path, encoding="utf-8") as f:
        todo = [compile(f.read(), path, "exec", dont_inherit=True)]
    lines: set[int] = set()
    while todo:
        code = todo.pop()
        if code.co_flags & CO_OPTIMIZED:
            lines.update(line for _, _, line in code.co_lines() if line and line != code.co_firstlineno)
        todo += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return frozenset(lines)


_recorder: _Monitoring | _Tracer | None = None


def start() -> None:
    global _recorder
    _recorder = _Monitoring() if hasattr(sys, "monitoring") else _Tracer()


def freeze(more: dict[str, list[int]] | None) -> None:
    """Everything seen so far is the baseline, and `more`."""
    if _recorder is None:
        return
    _recorder.collect()
    for file, lines in [*_hits.items(), *(more or {}).items()]:
        _baseline.setdefault(file, set()).update(lines)
    _hits.clear()
    _recorder.pause()


def begin(full: bool) -> None:
    global _full
    _full = full
    _hits.clear()
    if _recorder is not None:
        _recorder.begin(full)


def end() -> dict[str, list[int]]:
    if _recorder is None:
        return {}
    _recorder.collect()
    nothing: set[int] = set()
    new = {f: lines if _full else lines - _baseline.get(f, nothing) for f, lines in _hits.items()}
    return {f: sorted(lines) for f, lines in sorted(new.items()) if lines}


def baseline() -> dict[str, list[int]]:
    return {f: sorted(lines) for f, lines in sorted(_baseline.items())}
