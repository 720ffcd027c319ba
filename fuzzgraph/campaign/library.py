"""The entries as the campaign works with them: programs by id, newest use kept unpacked."""

from __future__ import annotations

from collections import OrderedDict

from fuzzgraph.ir.program import Program
from fuzzgraph.ir.wire import unpack

# Unpacking takes about a millisecond; picks favour few entries.
UNPACKED = 256


class Library:
    """Entries by id. Programs are immutable, so all users share them."""

    def __init__(self) -> None:
        self._blobs: dict[int, bytes] = {}
        self._hashes: dict[int, str] = {}
        self._programs: OrderedDict[int, Program] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blobs)

    def add(self, entry: int, content_hash: str, blob: bytes) -> None:
        self._blobs[entry] = blob
        self._hashes[entry] = content_hash

    def hash(self, entry: int) -> str:
        return self._hashes[entry]

    def program(self, entry: int) -> Program:
        """The program of that entry. Raises KeyError."""
        program = self._programs.pop(entry, None)
        if program is None:
            program = unpack(self._blobs[entry])
        self._programs[entry] = program
        while len(self._programs) > UNPACKED:
            self._programs.popitem(last=False)
        return program
