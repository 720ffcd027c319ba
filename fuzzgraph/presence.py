"""What is found by presence: a file that defines exactly one marked class."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from .errors import FuzzgraphError


def class_in(path: Path, module: str, mark: str) -> type[Any]:
    """Execute a file as a module of that name; return its class that the decorator `mark` marked as `_is_MARK`.

    Raises FuzzgraphError with the path of a file that does not import, or has another number of such classes.
    """
    try:
        spec = importlib.util.spec_from_file_location(module, path)
        if spec is None or spec.loader is None:
            raise ImportError("not a Python file")
        made = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(module, made)  # dataclasses look their module up
        spec.loader.exec_module(made)
    except (Exception, SystemExit) as e:
        raise FuzzgraphError(f"does not import: {type(e).__name__}: {e}", where=str(path)) from e
    classes = [c for c in vars(made).values() if isinstance(c, type) and vars(c).get(f"_is_{mark}")]
    if len(classes) != 1:
        raise FuzzgraphError(f"defines {len(classes)} {mark}s, expected one class with @{mark}", where=str(path))
    return classes[0]
