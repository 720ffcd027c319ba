"""Judges what is new, and counts how many entries have each feature."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .encode import Ids


class Novelty:
    """Which features were seen by any execution, and how many entries own each.

    Seen and owned differ: an execution in a batch also sees what its forerunners in the same process warmed up,
    so it only suggests. A program becomes an entry by features that no entry owns, measured in a process of its own.
    """

    def __init__(self) -> None:
        self._seen = np.zeros(1 << 16, dtype=bool)
        self._owners = np.zeros(1 << 16, dtype=np.int32)

    def _room(self, ids: Ids) -> None:
        need = int(ids[-1]) + 1 if ids.size else 0
        if need > self._seen.size:
            more = max(need, 2 * self._seen.size) - self._seen.size
            self._seen = np.concatenate([self._seen, np.zeros(more, dtype=bool)])
            self._owners = np.concatenate([self._owners, np.zeros(more, dtype=np.int32)])

    def see(self, ids: Ids) -> Ids:
        """Mark as seen; return those that no execution had shown before."""
        self._room(ids)
        new = ids[~self._seen[ids]]
        self._seen[new] = True
        return new

    def unowned(self, ids: Ids) -> Ids:
        """Those that no entry has."""
        self._room(ids)
        return ids[self._owners[ids] == 0]

    def own(self, ids: Ids) -> None:
        """Count one more entry that has these."""
        self._room(ids)
        self._seen[ids] = True
        self._owners[ids] += 1

    def owners(self, ids: Ids) -> npt.NDArray[np.int32]:
        """How many entries have each."""
        self._room(ids)
        return self._owners[ids]

    def owned(self) -> int:
        """How many features at least one entry has."""
        return int(np.count_nonzero(self._owners))

    def seen(self) -> int:
        return int(np.count_nonzero(self._seen))
