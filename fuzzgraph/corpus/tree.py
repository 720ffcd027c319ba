"""The readable half of a campaign directory: entries as text, one folder a finding."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

ENTRIES = "corpus"
FINDINGS = "findings"


def entry_file(directory: Path, content_hash: str) -> Path:
    return directory / ENTRIES / f"{content_hash[:12]}.fg"


def write_entry(directory: Path, content_hash: str, text: str) -> None:
    path = entry_file(directory, content_hash)
    path.parent.mkdir(exist_ok=True)
    write_whole(path, text)


def write_whole(path: Path, text: str) -> None:
    """Write a file that is at every moment absent, the old one, or complete."""
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def write_folder(path: Path, files: Mapping[str, str]) -> None:
    """Make a folder with these files, complete or not at all; one that is there already is replaced."""
    partial = path.with_name(f".{path.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for name, text in files.items():
        (partial / name).write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            (partial / name).chmod(0o755)
    if path.exists():
        shutil.rmtree(path)
    os.replace(partial, path)
