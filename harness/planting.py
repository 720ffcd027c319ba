"""Says what fault files (for --preload) change in torch, and whether several of them can be planted together.

`python -m fuzzgraph.harness.planting` reads one JSON object on stdin: `files`, `together` (lists of those files, in the
order in which they are to be planted), `out`. It writes to the file `out` a JSON object: `faults` (for each file what
`planted` returns) and `together` (for each list, the files of which something is gone once all are planted).

Each file, and each list, is planted in a fork of a process that only imported torch.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import importlib
import importlib.util
import json
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import prepare
from .observers import line

# A list of what was planted, in a fault file or in a module beside it: dicts with `file`, `module`, `qualname`, and
# `lines` (first, last), None where no code changed.
PLANTED = "PLANTED"

# Functions by id, with the code that they had; they are held, so that no id is used again.
Snapshot = dict[int, tuple[types.FunctionType, types.CodeType]]
Attributes = dict[str, int]


def main() -> None:
    order = json.load(sys.stdin)
    prepare.import_torch(observe=False)
    for file in order["files"]:
        # So that the functions that it changes are known before.
        for name in sorted(mentioned(file)):
            importlib.import_module(name)
    functions, attributes = snapshot(), callables()
    faults = {file: attempt(lambda file=file: planted(file, functions, attributes)) for file in order["files"]}
    gone = [attempt(lambda files=files: missing(files, faults)) for files in order["together"]]
    Path(order["out"]).write_text(json.dumps({"faults": faults, "together": gone}), encoding="utf-8")


def attempt(report: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `report` says in a forked child; `{"error": why}` where it raises or dies."""

    def said() -> dict[str, Any]:
        try:
            return {"said": report()}
        except Exception as error:
            return {"said": {"error": f"{type(error).__name__}: {error}"[:300]}}

    try:
        found: dict[str, Any] = prepare.in_child(said)["said"]
    except RuntimeError as error:  # it ended its process
        return {"error": str(error)}
    return found


def mentioned(file: str) -> set[str]:
    """Modules of torch whose names stand in the file: what it imports, and what it may name in a string."""
    found = set()
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return {name for name in found if name.startswith("torch.") and _exists(name)}


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):  # a string that only looks like a module
        return False


def planted(file: str, functions: Snapshot, attributes: Attributes) -> dict[str, Any]:
    """What the file changes: `error` ("" if it could be planted), `changes` (name -> digest; of functions, of
    attributes of torch's modules and classes, of tables that it says it changed) and `lines` (file of torch -> lines of
    the planted functions)."""
    spaces = prepare.preload([file])
    codes = {code_name(f.__code__): f.__code__ for f, old in functions.values() if f.__code__ is not old}
    changes = {name: digest(code) for name, code in codes.items()}
    changes |= {f"attribute {name}": "" for name, now in callables().items() if attributes.get(name, now) != now}
    said = declared(Path(file).parent, spaces)
    changes |= {f"table {p['module']}.{p['qualname']}": "" for p in said if p.get("lines") is None}
    return {"error": "", "changes": changes, "lines": lines_of(codes.values(), said)}


def missing(files: Sequence[str], faults: Mapping[str, Any]) -> dict[str, Any]:
    """`gone`: those of the files whose code is not what it is when they are planted alone."""
    prepare.preload(list(files))
    wanted = {name for file in files for name in faults[file].get("changes", ())}
    now: dict[str, set[str]] = {}
    for function, code in snapshot().values():
        name = code_name(code)
        if name in wanted:
            now.setdefault(name, set()).add(digest(function.__code__))
    return {"gone": [file for file in files if not _there(faults[file].get("changes", {}), now)]}


def _there(changes: Mapping[str, str], now: Mapping[str, set[str]]) -> bool:
    return all(now.get(name) == {value} for name, value in changes.items() if value)


def snapshot() -> Snapshot:
    return {id(f): (f, f.__code__) for f in gc.get_objects() if type(f) is types.FunctionType}


def callables() -> Attributes:
    """Ids of what can be called among the attributes of torch's modules and of their classes."""
    found: Attributes = {}
    for name, module in list(sys.modules.items()):
        if not name.startswith("torch.") or not isinstance(module, types.ModuleType):
            continue
        for key, value in list(vars(module).items()):
            # Not isinstance, which asks proxies for what is deprecated.
            if issubclass(type(value), type) and value.__module__ == name:
                found |= {f"{name}.{key}.{k}": id(v) for k, v in list(vars(value).items()) if _called(v)}
            elif callable(value):
                found[f"{name}.{key}"] = id(value)
    return found


def _called(value: Any) -> bool:
    return callable(value) or isinstance(value, staticmethod | classmethod | property)


def code_name(code: types.CodeType) -> str:
    return f"{code.co_filename}:{code.co_qualname}:{code.co_firstlineno}"


def digest(code: types.CodeType) -> str:
    """Equal for code that does the same."""
    consts = [digest(c) if isinstance(c, types.CodeType) else _stable(c) for c in code.co_consts]
    text = repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, consts))
    return hashlib.sha256(text.encode()).hexdigest()


def _stable(constant: Any) -> str:
    return repr(sorted(map(repr, constant))) if isinstance(constant, frozenset) else repr(constant)


def declared(folder: Path, spaces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the files, or modules beside them, list in PLANTED."""
    beside = [vars(m) for m in list(sys.modules.values()) if _lies_in(m, folder)]
    lists = {id(s[PLANTED]): s[PLANTED] for s in (*spaces, *beside) if isinstance(s.get(PLANTED), list)}
    return [entry for several in lists.values() for entry in several if isinstance(entry, dict)]


def _lies_in(module: Any, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(file).resolve().parent == folder.resolve()


def lines_of(codes: Any, said: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Lines in the bodies of changed functions, by file relative to torch; of files for which PLANTED names lines,
    only those."""
    root = line._torch_root()
    ranges: dict[str, list[tuple[int, int]]] = {}
    for entry in said:
        if entry.get("lines") is not None:
            ranges.setdefault(str(entry["file"]), []).append(tuple(entry["lines"]))
    found: dict[str, set[int]] = {}
    for code in (inner for outer in codes for inner in _nested(outer)):
        name = code.co_filename
        if name.startswith(root) and code.co_flags & line.CO_OPTIMIZED:
            own = {n for _, _, n in code.co_lines() if n and n != code.co_firstlineno}
            kept = {n for n in own if name not in ranges or any(a <= n <= b for a, b in ranges[name])}
            found.setdefault(name[len(root) :], set()).update(kept)
    return {file: sorted(lines) for file, lines in sorted(found.items()) if lines}


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


if __name__ == "__main__":
    main()
