"""A finding's directory, read and written: finding.json is the state of its triage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzgraph.corpus.tree import write_whole
from fuzzgraph.errors import FuzzgraphError, UsageError
from fuzzgraph.execution.protocol import Failure

from .folder import DESCRIPTION, PROGRAM

if TYPE_CHECKING:
    from fuzzgraph.ir.program import Program

# The program as the campaign found it; PROGRAM is the minimized one once there is one.
ORIGINAL = "original.fg"
SCHEMA = Path(__file__).with_name("finding.schema.json")
_TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
    "null": type(None),
}  # fmt: skip


@dataclass
class Finding:
    """`data` is what finding.json holds; changes count once `save()` has returned, all of them or none."""

    path: Path
    data: dict[str, Any] = field(repr=False)

    @property
    def triage(self) -> dict[str, Any]:
        found: dict[str, Any] = self.data.setdefault("triage", {})
        return found

    @property
    def id(self) -> str:
        return str(self.data["id"])

    @property
    def target(self) -> str:
        return str(self.data["target"])

    @property
    def preload(self) -> list[str]:
        return list(self.data["preload"])

    @property
    def failures(self) -> list[Failure]:
        return [failure_of(data) for data in self.data["failures"]]

    @property
    def failure(self) -> Failure:
        """The one that the finding is about: of the minimized program once there is one."""
        return failure_of(self.triage["failure"]) if "failure" in self.triage else self.seen

    @property
    def seen(self) -> Failure:
        """The one that the finding is about, as the campaign saw it: of the program as it was found."""
        kind = self.data["kind"]
        named = [f for f in self.failures if kind in (f"{f.oracle} {f.kind}", f.kind)]
        return (named or self.failures)[0]

    def save(self) -> None:
        write_whole(self.path / DESCRIPTION, json.dumps(self.data, indent=2, ensure_ascii=False) + "\n")

    def program(self, original: bool = False) -> Program:
        """Raises UsageError or ProgramError."""
        from fuzzgraph.ir.text import parse

        path = self.path / (ORIGINAL if original and (self.path / ORIGINAL).is_file() else PROGRAM)
        try:
            return parse(path.read_text(encoding="utf-8"), None, file=str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"not readable: {error}", where=str(path)) from error

    def write(self, name: str, text: str) -> None:
        write_whole(self.path / name, text)


def failure_of(data: dict[str, Any]) -> Failure:
    fields = Failure.__dataclass_fields__
    known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in fields}
    return Failure(**known)


def load(path: Path) -> Finding:
    """Raises UsageError naming the file and what is wrong in it."""
    file = path / DESCRIPTION
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"not readable: {error}", where=str(file)) from error
    problem = next(problems(data, schema()), None)
    if problem is not None:
        raise UsageError(f"no finding: {problem}", where=str(file))
    if not data["failures"]:
        raise UsageError("no finding: it lists no failure", where=str(file))
    return Finding(path, data)


def load_all(folder: Path) -> tuple[list[Finding], list[FuzzgraphError]]:
    """Findings below a campaign's folder of findings, in the order of their names, and what is wrong with others."""
    found, errors = [], []
    for path in sorted(p.parent for p in folder.glob(f"*/{DESCRIPTION}") if not p.parent.name.startswith(".")):
        try:
            found.append(load(path))
        except FuzzgraphError as error:
            errors.append(error)
    return found, errors


@cache
def schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return found


def problems(value: Any, rule: dict[str, Any], where: str = "") -> Iterator[str]:
    """Where a value breaks a JSON schema that uses type, enum, required, properties and items only."""
    name = where or "the file"
    types = rule.get("type", list(_TYPES))
    types = [types] if isinstance(types, str) else types
    if not any(_is(value, kind) for kind in types):
        yield f"{name} is no {' or '.join(types)}"
        return
    if "enum" in rule and value not in rule["enum"]:
        yield f"{name} is {value!r}, not one of {rule['enum']}"
    if isinstance(value, dict):
        for key in rule.get("required", ()):
            if key not in value:
                yield f"{name} lacks {key}"
        for key, inner in rule.get("properties", {}).items():
            if key in value:
                yield from problems(value[key], inner, f"{where}.{key}" if where else key)
    if isinstance(value, list) and "items" in rule:
        for i, item in enumerate(value):
            yield from problems(item, rule["items"], f"{where}[{i}]")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])
