"""Redirecting torch.compile to a backend that records: `install` in a process that has not imported torch yet.

What is recorded goes to a folder, one file a graph, beside marks that say how far a process came:
`python`, `torch` (imported), `compile` (torch.compile was called), `problem` (the recorder failed; holds the text).
This module is imported in users' processes, so it imports nothing heavy by itself.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import itertools
import os
import sys
import traceback
from pathlib import Path
from typing import Any

GRAPH = ".graph"


class Spool:
    """The folder that recordings go to. Files appear whole: a process may be killed at any time."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._serial = itertools.count()

    def mark(self, what: str) -> None:
        """Note that this process came so far; once is enough."""
        (self.folder / f"{os.getpid()}.{what}").touch()

    def problem(self, text: str) -> None:
        self._write(".problem", text.encode(errors="replace"))

    def add(self, recorded: Any) -> None:
        from ...ir.recorded import pack

        self._write(GRAPH, pack(recorded))

    def _write(self, suffix: str, data: bytes) -> None:
        # In order of time, also between processes that follow each other.
        name = f"{os.getppid():08}-{os.getpid():08}-{next(self._serial):06}"
        started = self.folder / f"{name}.part"
        started.write_bytes(data)
        started.rename(self.folder / (name + suffix))


def install(folder: str) -> None:
    """Redirect torch.compile as soon as this process imports torch."""
    spool = Spool(folder)
    spool.mark("python")
    if "torch" in sys.modules:
        redirect(sys.modules["torch"], spool)
    else:
        sys.meta_path.insert(0, _AfterTorch(spool))


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Finds torch as others do, and redirects its compile when it has been imported."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            run = loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                redirect(module, self.spool)

            loader.exec_module = exec_module
        return spec


def redirect(torch: Any, spool: Spool) -> None:
    """Let torch.compile use the recording backend, whatever backend, mode and options are asked for."""
    spool.mark("torch")
    compile_ = torch.compile

    @functools.wraps(compile_)
    def recording_compile(model: Any = None, **options: Any) -> Any:
        spool.mark("compile")
        kept = {k: v for k, v in options.items() if k not in ("backend", "mode", "options")}
        return compile_(model, backend=functools.partial(backend, spool), **kept)

    torch.compile = recording_compile


def backend(spool: Spool, module: Any, example_inputs: Any) -> Any:
    """A backend of torch.compile: the graph runs eagerly, and its first run is recorded."""
    from .graph import Recorder

    recorder: list[Any] = [Recorder(module)]

    def run(*args: Any) -> Any:
        if not recorder:
            return module(*args)
        result, recorded = recorder.pop().record(*args)
        try:
            spool.add(recorded)
        except Exception:  # the user's script goes on; the importer tells it
            spool.problem(traceback.format_exc())
        return result

    return run
