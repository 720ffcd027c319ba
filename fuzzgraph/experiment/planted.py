"""Folders of planted faults: which there are, what each changes in torch, and in which groups they are planted."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from fuzzgraph.check.source import constants, text_of
from fuzzgraph.errors import EnvironmentProblem, UsageError
from fuzzgraph.resources import environment

FORMAT = """\
A fault is a Python file that does not begin with "_" and defines apply(), which changes the torch that is imported;
its folder is on sys.path then. Of the constants in it, all of which may be left out, these are read:
  DIFFICULTY   1 (nearly any program with the operator shows it) to 5 (three or more conditions must meet)
  KIND         a few words for what goes wrong, shown in the table
  TARGET       the compiler target that the fault is for: cpp (the default); faults for another are left out
What apply() changes is seen by itself where it gives functions other code. A list PLANTED in the file, or in a module
beside it, may say more: dicts with `file`, `module`, `qualname` and `lines` (first and last; None for a table whose
entry changed). A fault counts as reached when a line of a changed function ran that PLANTED does not leave out."""
# What DIFFICULTY may be; 0 stands for none.
DIFFICULTIES = range(1, 6)
TARGET = "cpp"
# How many faults a group has unless the user says: more of them have more CPU time each, and hide each other more.
GROUP = 6


@dataclass(frozen=True)
class Fault:
    """`changes` names what it changes in torch, `lines` are those (file relative to torch -> lines) of which one must
    run for it to be reached; none: nobody can tell."""

    name: str
    path: str
    difficulty: int = 0
    kind: str = ""
    changes: frozenset[str] = frozenset()
    lines: dict[str, list[int]] = field(default_factory=dict, hash=False)

    def reached(self, features: Iterable[tuple[str, int]]) -> bool:
        return any(line in self.lines.get(file, ()) for file, line in features)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "changes": sorted(self.changes)}


def fault_of(data: dict[str, Any]) -> Fault:
    """The inverse of `to_json`."""
    return Fault(**{**data, "changes": frozenset(data["changes"])})


@dataclass(frozen=True)
class Skipped:
    name: str
    reason: str


def read(folder: Path, only: Sequence[str] = ()) -> tuple[list[Fault], list[Skipped]]:
    """The faults of a folder by name, or those that are named, and what is left out. Raises UsageError."""
    if not folder.is_dir():
        raise UsageError("no such folder", where=str(folder))
    paths = {p.stem: p for p in sorted(folder.resolve().glob("*.py")) if not p.name.startswith("_")}
    for name in only:
        if name not in paths:
            raise UsageError(f"no fault {name!r}", where=str(folder), hint=f"there are {', '.join(paths) or 'none'}")
    faults: list[Fault] = []
    skipped: list[Skipped] = []
    for name, path in paths.items():
        if only and name not in only:
            continue
        found = _read(name, path)
        if isinstance(found, Fault):
            faults.append(found)
        else:
            skipped.append(found)
    if not faults:
        why = f": {skipped[0].name}: {skipped[0].reason}" if skipped else ""
        raise UsageError(f"no fault here{why}", where=str(folder), hint="--help says what a fault is")
    return faults, skipped


def _read(name: str, path: Path) -> Fault | Skipped:
    try:
        tree = ast.parse(text_of(path))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"no Python file: {error}", where=str(path)) from error
    if not any(isinstance(s, ast.FunctionDef) and s.name == "apply" for s in tree.body):
        return Skipped(name, "it has no apply()")
    found = constants(tree)
    target, difficulty = found.get("TARGET", TARGET), found.get("DIFFICULTY", 0)
    if target != TARGET:
        return Skipped(name, f"it is for the target {target}")
    if difficulty != 0 and (isinstance(difficulty, bool) or difficulty not in DIFFICULTIES):
        raise UsageError(f"DIFFICULTY must be 1 to 5, not {difficulty!r}", where=str(path))
    return Fault(name, str(path), difficulty, str(found.get("KIND", "")))


def probe(files: Sequence[str], together: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """What the harness says of files alone (`faults`) and of lists of them (`together`): see `harness.planting`."""
    with tempfile.TemporaryDirectory(prefix="fuzzgraph-planting-") as folder:
        out = Path(folder) / "out.json"
        order = json.dumps({"files": list(files), "together": [list(t) for t in together], "out": str(out)})
        env = {**environment(), "TORCHINDUCTOR_CACHE_DIR": str(Path(folder) / "cache")}
        command = [sys.executable, "-m", "fuzzgraph.harness.planting"]
        done = subprocess.run(command, input=order, env=env, capture_output=True, text=True, errors="replace")
        if not out.exists():
            said = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
            raise EnvironmentProblem(f"what the faults change could not be found out: {said[0]}")
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return found


def examined(faults: Sequence[Fault]) -> tuple[list[Fault], list[Skipped]]:
    """The faults with what they change; those that this torch cannot have are left out."""
    found = probe([fault.path for fault in faults])["faults"]
    known, skipped = [], []
    for fault in faults:
        facts = found[fault.path]
        if facts["error"]:
            skipped.append(Skipped(fault.name, f"it cannot be planted: {facts['error']}"))
        else:
            known.append(replace(fault, changes=frozenset(facts["changes"]), lines=facts["lines"]))
    return known, skipped


def dealt(faults: Sequence[Fault], count: int, rng: Random) -> list[list[Fault]]:
    """The faults in `count` groups of about equal size and difficulty, none of which has two that change the same.

    Dealt like cards, easy ones first, to the smallest group that can take them. Raises UsageError where none can.
    """
    order = []
    for difficulty in (*DIFFICULTIES, 0):
        alike = sorted((f for f in faults if f.difficulty == difficulty), key=lambda f: f.name)
        rng.shuffle(alike)
        order += alike
    groups: list[list[Fault]] = [[] for _ in range(min(count, len(faults)))]
    for fault in order:
        free = [g for g in groups if not any(fault.changes & other.changes for other in g)]
        if not free:
            raise UsageError(f"{fault.name} changes what one fault of each group changes", hint="more --groups")
        min(free, key=len).append(fault)
    return groups


def check_together(groups: Sequence[Sequence[Fault]]) -> None:
    """Plant each group; raises UsageError where a fault of it is gone when all are planted."""
    together = [[fault.path for fault in group] for group in groups]
    found = probe([path for paths in together for path in paths], together)["together"]
    for facts in found:
        if facts.get("error") or facts["gone"]:
            names = ", ".join(Path(path).stem for path in facts.get("gone", ()))
            raise UsageError(f"faults cannot be planted together: {facts.get('error') or names}", hint="more --groups")
