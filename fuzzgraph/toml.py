"""Reads TOML files that people write."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from .errors import UsageError


def read_toml(path: Path, hint: str = "") -> dict[str, Any]:
    """What the file holds. Raises UsageError naming the file; `hint` is for one that is not there."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError("no such file", where=str(path), hint=hint) from error
    except OSError as error:
        raise UsageError(error.strerror or str(error), where=str(path)) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"not a TOML file: {error}", where=str(path)) from error
    try:
        return tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, and what Python says to numbers of some thousand digits
        raise UsageError(f"not a TOML file: {error}", where=str(path)) from error
    except RecursionError:
        raise UsageError("not a TOML file: nested too deeply", where=str(path)) from None
