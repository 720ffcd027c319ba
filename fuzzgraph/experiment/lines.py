"""Compiler lines that programs reach: function bodies in four folders, beyond `x + 1` with backward.

Works on a campaign (its entries, or all compared programs) and on any folder of Python programs, so that other fuzzers
are measured with the same ruler.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzzgraph.errors import EnvironmentProblem, UsageError
from fuzzgraph.resources import environment

FOLDERS = ("_inductor", "_dynamo", "_functorch", "_decomp")
# Programs that share an interpreter: imports cost three seconds, and a program that dies costs a rerun of the rest.
BATCH = 20
# Seconds for one batch: a program that hangs is dropped with what is left of its time.
LIMIT = 600

Line = tuple[str, int]
# A file, and the argument lists with which it is run; the first must end well for the program to count.
Entry = tuple[str, list[list[str]]]


@dataclass
class Count:
    """`lines` reached by programs that count; `beyond` leaves out those of the trivial program."""

    trivial: set[Line]
    lines: set[Line] = field(default_factory=set)
    programs: int = 0
    counted: int = 0
    wrong: list[str] = field(default_factory=list)
    cpu: float = 0.0

    def by_folder(self) -> dict[str, int]:
        beyond = self.lines - self.trivial
        return {folder: sum(1 for file, _ in beyond if file.startswith(f"{folder}/")) for folder in FOLDERS}

    @property
    def beyond(self) -> int:
        return sum(self.by_folder().values())


def python_programs(path: Path) -> list[Entry]:
    """The .py files of a folder, or one file."""
    files = sorted(path.glob("**/*.py")) if path.is_dir() else [path]
    if not files:
        raise UsageError("no .py program and no campaign here", where=str(path))
    return [(str(file.resolve()), [[]]) for file in files]


def campaign_programs(directory: Path, folder: Path, everything: bool) -> list[Entry]:
    """Write the campaign's entries, or `everything` that was compared, as scripts to `folder`; also what brought new
    coverage and still waited to be judged when the campaign ended.
    """
    from fuzzgraph.corpus.store import Store
    from fuzzgraph.grammar import load_rules
    from fuzzgraph.ir.wire import unpack
    from fuzzgraph.render.standalone import standalone

    book = load_rules()
    store = Store(directory, readonly=True)
    try:
        if everything:
            blobs = [p.blob for p in store.programs(blobs=True) if p.blob and p.status != "invalid"]
        else:
            blobs = [entry.blob for entry in store.entries()]
        blobs += [r.payload["program"] for r in store.pending() if not r.payload["first"]]
    finally:
        store.close()
    entries = []
    blobs = list(dict.fromkeys(blobs))
    for number, blob in enumerate(blobs):
        file = folder / f"p{number:06}.py"
        file.write_text(standalone(unpack(blob), book), encoding="utf-8")
        entries.append((str(file), [["eager"], ["compiled"]]))
    return entries


def count(
    entries: Sequence[Entry], batch: int = BATCH, cpu_limit: float = 0.0,
    progress: Callable[[Count], None] = lambda count: None,
) -> Count:  # fmt: skip
    """Run all programs, cold caches and one compile thread. Raises EnvironmentProblem where Python cannot count."""
    if sys.version_info < (3, 12):
        raise EnvironmentProblem("counting lines needs Python 3.12 or later (sys.monitoring)")
    with tempfile.TemporaryDirectory(prefix="fuzzgraph-lines-") as folder:
        measure = _Child(Path(folder))
        trivial, _ = measure.run([], trivial=True)
        result = Count(trivial)
        left = list(entries)
        while left and not (cpu_limit and result.cpu >= cpu_limit):
            lines, verdicts = measure.run(left[:batch])
            result.lines |= lines
            for verdict in verdicts:
                result.programs += 1
                result.counted += bool(verdict["counts"])
                result.cpu += float(verdict["cpu"])
                if verdict["wrong"]:
                    result.wrong.append(f"{verdict['path']}: {verdict['wrong']}")
            done = len(verdicts)
            if done < len(left[:batch]):
                result.wrong.append(f"{left[done][0]}: it killed its process or hung")
                result.programs += 1
                done += 1
            left = left[done:]
            progress(result)
    return result


class _Child:
    def __init__(self, folder: Path) -> None:
        self._out = folder / "out.json"
        self._env = {
            **environment(),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }

    def run(self, entries: Iterable[Entry], trivial: bool = False) -> tuple[set[Line], list[dict[str, object]]]:
        """Lines and verdicts of the programs up to the one that killed the process, if one does."""
        self._out.unlink(missing_ok=True)
        order = json.dumps({"programs": list(entries), "out": str(self._out), "trivial": trivial})
        command = [sys.executable, "-m", "fuzzgraph.harness.function_lines"]
        try:
            done = subprocess.run(
                command, input=order, env=self._env, capture_output=True, text=True, timeout=LIMIT, errors="replace"
            )
            said = done.stderr
        except subprocess.TimeoutExpired:
            said = "time limit"
        if not self._out.exists():
            if trivial:
                raise EnvironmentProblem(f"the trivial program does not run: {said.strip().splitlines()[-1:]}")
            return set(), []
        report = json.loads(self._out.read_text(encoding="utf-8"))
        return {(file, line) for file, line in report["lines"]}, report["programs"]
