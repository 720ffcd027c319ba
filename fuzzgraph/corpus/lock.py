"""One campaign at a time in a directory."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from fuzzgraph.errors import StoreError


class DirectoryLock:
    """Holds `DIR/lock` (or another `name`, for what else is done one at a time) until `release` or the end of the
    process, however it ends (flock, not a pid file)."""

    def __init__(self, directory: Path, name: str = "lock", what: str = "a campaign") -> None:
        self.path, self.what = directory / name, what
        self._file: int | None = None

    def acquire(self) -> None:
        """Raise StoreError, naming the holder's pid, if another process holds it."""
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(file, 32).decode(errors="replace").strip() or "unknown"
            os.close(file)
            raise StoreError(
                f"{self.what} is running in this directory (process {holder})",
                where=str(self.path.parent),
                hint="stop it first, or use another directory",
            ) from None
        os.ftruncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode())
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def holder(directory: Path) -> int | None:
    """The pid of the process that runs a campaign in `directory`, None if there is none."""
    try:
        file = os.open(directory / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.read(file, 32).decode(errors="replace").strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(file)
    return None
