"""Where fuzzgraph and the data that it ships lie: the grammar and the seed corpus."""

import os
from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent


def checkout_root() -> Path | None:
    """Return the root of the checkout that this package lies in, or None if the package is installed."""
    root = _PACKAGE.parent
    if (root / "pyproject.toml").is_file() and (root / "harness" / "__init__.py").is_file():
        return root
    return None


def environment() -> dict[str, str]:
    """This process's environment, in which `python -m fuzzgraph` is this fuzzgraph."""
    path = os.pathsep.join(p for p in (str(_PACKAGE.parent), os.environ.get("PYTHONPATH")) if p)
    return {**os.environ, "PYTHONPATH": path}


def data_dir(name: Literal["grammar", "corpus"]) -> Path:
    """Return the folder with the shipped grammar or corpus: an absolute path of a folder that exists.

    In a checkout that is the top-level folder, so that an edit counts at once; in an installed package,
    the copy inside it. Nothing may be written there. Raises FileNotFoundError if it is missing.
    """
    root = checkout_root()
    home = _PACKAGE / "_data" / name if root is None else root / name
    if not home.is_dir():
        raise FileNotFoundError(f"fuzzgraph's {name} folder is missing: {home}")
    return home


def import_root() -> Path:
    """Return the folder from which `fuzzgraph` is imported."""
    return _PACKAGE.parent


def harness_dir() -> Path:
    """Return the folder of the harness's code."""
    root = checkout_root()
    return _PACKAGE / "harness" if root is None else root / "harness"
