"""A campaign's directory before the campaign is opened. Imports little, so that refusals come at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fuzzgraph.corpus.store import is_campaign
from fuzzgraph.errors import UsageError

from . import config as options


def prepare(directory: Path, resume: bool) -> None:
    """Make the directory. Raises UsageError where a campaign is there and is not to be resumed, or the reverse."""
    if is_campaign(directory):
        if not resume:
            hint = "add --resume to go on with it, or choose another directory"
            raise UsageError("there is a campaign in this directory already", where=str(directory), hint=hint)
        return
    if resume:
        raise UsageError("no campaign here to resume", where=str(directory), hint="leave out --resume to begin one")
    if directory.exists() and not directory.is_dir():
        raise UsageError("this is no directory", where=str(directory))
    if directory.is_dir() and any(p.name != "lock" for p in directory.iterdir()):
        raise UsageError("the directory is not empty", where=str(directory), hint="choose another one")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the directory: {error.strerror}", where=str(directory)) from error


def stored_options(directory: Path) -> dict[str, Any]:
    """The options that the campaign in `directory` ran with last, without its budgets: those belong to one run."""
    path = directory / options.FILE
    if not path.is_file():
        return {}
    values = options.read_toml(path)
    return {k: v for k, v in values.items() if k not in ("time", "programs", "cpu_seconds", "stop_on")}
