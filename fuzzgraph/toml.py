"""Reads TOML files that people write, and writes lines that they read."""

from __future__ import annotations

import json
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


def toml_line(key: str, value: Any) -> str:
    """`key = value` for a string, number, truth value, or a list of these.

    JSON's are TOML's too, except that TOML wants characters as they are (it knows no surrogate pairs, which JSON's
    escapes make of some), but for DEL.
    """
    return f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")
