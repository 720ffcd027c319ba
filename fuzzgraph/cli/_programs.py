"""Programs named on the command line: files, finding directories, entries of a campaign."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzgraph.errors import FuzzgraphError, ProgramError, UsageError

if TYPE_CHECKING:
    from fuzzgraph.ir.infer import Inference
    from fuzzgraph.ir.program import Program


@dataclass(frozen=True)
class Named:
    """`settings` are what a finding was found with (target, preload, failures), where the name is a finding's."""

    name: str
    program: Program
    settings: dict[str, object]


# Told of a file that is no program, in place of an end to it all.
Refused = Callable[[FuzzgraphError], None]


def load(
    name: str, corpus: Path | None, infer: Inference, trust: bool = False, refused: Refused | None = None
) -> list[Named]:
    """Programs that `name` means: a .fg file, a finding directory, a folder of .fg files, DIR:ID, or ID with `corpus`.

    ID is an entry's id, the start of its hash, or @N, the campaign's program N. `trust`: take types that a text states
    as they are, and ask `infer` for texts only that leave some out. Raises UsageError, ProgramError or StoreError; with
    `refused`, which is told of those that are of one file, the others are loaded.
    """
    path = Path(name)
    if path.is_file():
        return _files([(name, path)], infer, trust, refused)
    if path.is_dir():
        return _folder(path, infer, trust, refused)
    directory, colon, entry = name.rpartition(":")
    if colon and Path(directory).is_dir():
        return [_entry(Path(directory), entry)]
    if corpus is not None:
        return [_entry(corpus, name)]
    hint = "a .fg file, a finding's directory, or CAMPAIGN:ENTRY"
    raise UsageError("no such program", where=name, hint=hint)


def _parse(path: Path, infer: Inference, trust: bool) -> Program:
    from fuzzgraph.ir.text import parse

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(error.strerror or str(error), where=str(path)) from error
    except UnicodeDecodeError as error:
        raise UsageError("this is no text file", where=str(path), hint="programs are .fg files") from error
    if trust:
        try:
            return parse(text, None, file=str(path))
        except ProgramError:
            # With inference it is fine, or the error is told better.
            pass
    return parse(text, infer, file=str(path))


def _files(
    files: Iterable[tuple[str, Path]], infer: Inference, trust: bool, refused: Refused | None
) -> list[Named]:
    found = []
    for name, path in files:
        try:
            found.append(Named(name, _parse(path, infer, trust), {}))
        except (ProgramError, UsageError) as error:
            if refused is None:
                raise
            refused(error)
    return found


def _folder(path: Path, infer: Inference, trust: bool, refused: Refused | None) -> list[Named]:
    import json

    from fuzzgraph.triage.folder import DESCRIPTION, PROGRAM
    from fuzzgraph.triage.record import problems, schema

    if (path / PROGRAM).is_file():
        settings: dict[str, object] = {}
        if (path / DESCRIPTION).is_file():
            try:
                described = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))
            except (OSError, ValueError, RecursionError) as error:
                raise UsageError(f"not readable: {error}", where=str(path / DESCRIPTION)) from error
            # What is not used may be missing: a finding that was written by hand has a program and a target.
            used = {key: schema()["properties"][key] for key in ("target", "preload", "failures")}
            problem = next(problems(described, {"type": "object", "properties": used}), None)
            if problem is not None:
                raise UsageError(f"no finding: {problem}", where=str(path / DESCRIPTION))
            settings = {key: described[key] for key in used if key in described}
        return [Named(str(path), _parse(path / PROGRAM, infer, trust=True), settings)]
    found = sorted(path.glob("**/*.fg"))
    if not found:
        raise UsageError("no .fg program in this directory", where=str(path))
    return _files([(str(file), file) for file in found], infer, trust, refused)


def _entry(directory: Path, name: str) -> Named:
    from fuzzgraph.corpus.store import Store
    from fuzzgraph.ir.wire import unpack

    store = Store(directory, readonly=True)
    try:
        if re.fullmatch("@[0-9]{1,18}", name):
            blob = store.program_blob(int(name[1:]))
            if blob is None:
                raise UsageError("this program was not kept", where=f"{directory}:{name}", hint="compared ones are")
            return Named(f"{directory}:{name}", unpack(blob), {})
        entries = store.find_entries(name) if name else []
    finally:
        store.close()
    exact = [entry for entry in entries if str(entry.id) == name or entry.hash == name]
    entries = exact[:1] or entries
    if len(entries) != 1:
        what = "no such entry" if not entries else f"{len(entries)} entries start with this"
        raise UsageError(what, where=f"{directory}:{name}", hint="an entry's id or the start of its hash")
    return Named(f"{directory}:{entries[0].hash[:12]}", unpack(entries[0].blob), {})
