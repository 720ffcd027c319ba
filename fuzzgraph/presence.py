"""What is found by presence: files in a folder of ours, and in the same folder of each plug-in.

A plug-in is a folder laid out like fuzzgraph's checkout (`fuzzgraph/` may be left out). It is named by `--plugin`, or
in the environment, which every process that is started takes over: engine, harness, and the tests, whose conformance
tests then cover it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import FuzzgraphError, UsageError

# Names folders as PATH does.
PLUGINS = "FUZZGRAPH_PLUGINS"

# Where the files of each kind lie in a checkout.
PLACES = {
    "rules": "grammar/operators", "mutator": "fuzzgraph/mutators", "reducer": "fuzzgraph/minimize/reducers",
    "oracle": "fuzzgraph/oracles", "form": "fuzzgraph/render/forms", "instance": "fuzzgraph/render/instances",
    "target": "harness/targets", "observer": "harness/observers",
}  # fmt: skip


@contextmanager
def plugged(folders: Iterable[str | Path]) -> Iterator[None]:
    """Add plug-ins to this process, and to those that it starts, until the block ends. Raises as `plug_in` does."""
    before = os.environ.get(PLUGINS, "")
    try:
        plug_in([*plugins(), *folders])
        yield
    finally:
        os.environ[PLUGINS] = before


def plug_in(folders: Iterable[str | Path]) -> None:
    """Add plug-ins for good. Raises UsageError for what is no folder, and for a folder without any file that a plug-in
    can have."""
    named = dict.fromkeys(plugins())
    for folder in folders:
        where = f"plug-in {folder}"
        if os.pathsep in str(folder):
            raise UsageError(f"its name must not hold {os.pathsep!r}", where=where)
        if not Path(folder).is_dir():
            raise UsageError("this is no directory" if Path(folder).exists() else "no such directory", where=where)
        if not any(_files_of(Path(folder), kind) for kind in PLACES):
            raise UsageError("holds no file of a plug-in", where=where, hint=f"in {', '.join(PLACES.values())}")
        named[Path(folder).resolve()] = None
    os.environ[PLUGINS] = os.pathsep.join(map(str, named))


def plugins() -> tuple[Path, ...]:
    """The plug-ins of this process, in the order in which they were named."""
    return tuple(Path(folder).resolve() for folder in os.environ.get(PLUGINS, "").split(os.pathsep) if folder)


def files(home: Path, kind: str) -> list[Path]:
    """The files of a kind of `PLACES`: those in `home`, our own folder of it, then those of each plug-in, by name.
    Files whose name starts with `_` are helpers of others."""
    return [*_those_in(home, kind), *(path for folder in plugins() for path in _files_of(folder, kind))]


def _files_of(plugin: Path, kind: str) -> list[Path]:
    short = PLACES[kind].removeprefix("fuzzgraph/")
    return [path for nested in (short, f"fuzzgraph/{short}") for path in _those_in(plugin / nested, kind)]


def _those_in(folder: Path, kind: str) -> list[Path]:
    found = folder.glob("*.rules" if kind == "rules" else "*.py")
    return sorted(path for path in found if not path.name.startswith("_"))


def modules(package: str, kind: str) -> Mapping[str, Path]:
    """The files of a kind that lie in a package and in plug-ins, by the file's stem; looked for once. Raises
    FuzzgraphError for a second file of one name."""
    return _modules(package, kind, plugins())


@cache
def _modules(package: str, kind: str, _plugins: tuple[Path, ...]) -> Mapping[str, Path]:
    found: dict[str, Path] = {}
    for path in files(_home(package), kind):
        if path.stem in found:
            raise FuzzgraphError(f"a second {kind} {path.stem!r}", where=str(path))
        found[path.stem] = path
    return found


def module(package: str, kind: str, stem: str) -> ModuleType:
    """The module of that name. Raises UsageError where there is none, FuzzgraphError with the path of one that does
    not import."""
    found = modules(package, kind)
    if stem not in found:
        raise UsageError(f"there is no {kind} {stem!r}", hint=f"there are: {', '.join(found)}")
    return _module_at(found[stem], package, kind)


@cache
def _module_at(path: Path, package: str, kind: str) -> ModuleType:
    """A file as a module: of the package where it lies there, by itself where a plug-in has it."""
    try:
        if path.parent == _home(package):
            return importlib.import_module(f"{package}.{path.stem}")
        return _foreign(path, f"fuzzgraph_{kind}_{path.stem}")
    except (Exception, SystemExit) as e:
        raise FuzzgraphError(f"does not import: {type(e).__name__}: {e}", where=str(path)) from e


def _foreign(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made  # dataclasses look their module up
    spec.loader.exec_module(made)
    return made


def _home(package: str) -> Path:
    return Path(str(sys.modules[package].__file__)).parent


def marked(package: str, kind: str, helpers: frozenset[str] = frozenset()) -> dict[str, Any]:
    """An object of the class that each file of a kind marks, by the class's `name`, in the order of `files`; made once.

    A class is marked by an attribute `_is_KIND`. `helpers` are stems of files that mark none. Raises FuzzgraphError
    with the path of a file that does not import, that marks another number of classes, or whose class has a name that
    is taken.
    """
    return _marked(package, kind, helpers, plugins())


@cache
def _marked(package: str, kind: str, helpers: frozenset[str], _plugins: tuple[Path, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in files(_home(package), kind):
        if path.parent == _home(package) and path.stem in helpers:
            continue
        made = _class_in(_module_at(path, package, kind), kind, path)()
        if made.name in found:
            raise FuzzgraphError(f"a second {kind} {made.name!r}", where=str(path))
        found[made.name] = made
    return found


def _class_in(found: ModuleType, kind: str, path: Path) -> type[Any]:
    classes = [c for c in vars(found).values() if isinstance(c, type) and vars(c).get(f"_is_{kind}")]
    if len(classes) != 1:
        raise FuzzgraphError(f"defines {len(classes)} {kind}s, expected one class with @{kind}", where=str(path))
    return classes[0]
