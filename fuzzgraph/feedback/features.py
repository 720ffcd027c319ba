"""Features: what an execution was seen to do, as (space, key), and their interned ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .encode import Ids, as_ids

LINES = "line"


class Interner:
    """Gives every feature a small id, the same for the life of a campaign.

    `fresh` collects (id, space, key) of ids given since the store last took them (`take_fresh`). A space in `off`
    is not seen at all.
    """

    def __init__(self, off: Iterable[str] = ()) -> None:
        self.off = frozenset(off)
        self._count = 0
        # Lines seen, by the first folder of their file.
        self.lines: Counter[str] = Counter()
        self._fresh: list[tuple[int, str, str]] = []
        # Lines come by the ten thousand, so they are looked up by file and number without making a string.
        self._lines: dict[str, dict[int, int]] = {}
        self._keys: dict[tuple[str, str], int] = {}

    def __len__(self) -> int:
        return self._count

    def restore(self, rows: Iterable[tuple[int, str, str]]) -> None:
        """Take (id, space, key) in the order of ids, starting at 0, as the store keeps them."""
        for number, space, key in rows:
            if number != self._count:
                raise ValueError(f"feature ids are not consecutive at {number}")
            self._count += 1
            if space == LINES:
                file, _, line = key.rpartition(":")
                self._lines.setdefault(file, {})[int(line)] = number
                self.lines[file.partition("/")[0]] += 1
            else:
                self._keys[space, key] = number

    def take_fresh(self) -> list[tuple[int, str, str]]:
        fresh, self._fresh = self._fresh, []
        return fresh

    def ids(self, features: Mapping[str, Any]) -> Ids:
        """The ids of an execution's features, sorted: `line` -> {file: [lines]}, every other space -> [keys]."""
        found: list[int] = []
        for space, keys in features.items():
            if space in self.off:
                continue
            if space == LINES:
                for file, lines in keys.items():
                    found += self._line_ids(file, lines)
            else:
                found += [self._key_id(space, str(key)) for key in keys]
        return as_ids(found)

    def _line_ids(self, file: str, lines: Iterable[int]) -> list[int]:
        known = self._lines.setdefault(file, {})
        try:
            return [known[line] for line in lines]
        except KeyError:
            for line in lines:
                if line not in known:
                    known[line] = self._new(LINES, f"{file}:{line}")
                    self.lines[file.partition("/")[0]] += 1
            return [known[line] for line in lines]

    def _key_id(self, space: str, key: str) -> int:
        number = self._keys.get((space, key))
        if number is None:
            number = self._keys[space, key] = self._new(space, key)
        return number

    def _new(self, space: str, key: str) -> int:
        number = self._count
        self._count += 1
        self._fresh.append((number, space, key))
        return number
