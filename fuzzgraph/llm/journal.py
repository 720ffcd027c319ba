"""A sink: every exchange with the server as one JSON line of a file."""

from __future__ import annotations

import json
import time
from pathlib import Path

from .proposer import Exchange


class Journal:
    """Appends exchanges to a file, flushed line by line: a kill loses at most the one being written."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", errors="backslashreplace")

    def __call__(self, exchange: Exchange) -> None:
        record = {"time": round(time.time(), 3), **exchange.to_dict()}
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()
