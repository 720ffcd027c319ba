"""Finds plug-in files by presence: a file's stem, `_` read as `-`, is the plug-in's name."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from ..errors import UsageError


def names_in(folder: str) -> list[str]:
    return sorted(p.stem.replace("_", "-") for p in Path(folder).glob("*.py") if not p.stem.startswith("_"))


@cache
def load_file(folder: str, name: str, kind: str) -> ModuleType:
    """Import `folder/name.py` as a module of this package; a broken file fails with its path."""
    path = Path(folder) / (name.replace("-", "_") + ".py")
    if not path.is_file():
        known = ", ".join(names_in(folder))
        raise UsageError(f"there is no {kind} {name!r}", hint=f"there are: {known}")
    full = f"fuzzgraph.harness.{path.parent.name}.{path.stem}"
    spec = importlib.util.spec_from_file_location(full, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[full] = module
    try:
        spec.loader.exec_module(module)
    except Exception as e:
        raise UsageError(f"{kind} file does not load: {type(e).__name__}: {e}", where=str(path)) from e
    return module
