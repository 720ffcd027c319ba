"""CPU seconds of this process and all its descendants, however they are nested."""

from __future__ import annotations

import os
import time
from collections import defaultdict

_TICKS = os.sysconf("SC_CLK_TCK")


def _stat(pid: str) -> tuple[int, float, str] | None:
    """(parent, own and reaped children's CPU seconds, name) of a process, None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            head, _, tail = file.read().decode(errors="replace").rpartition(")")
    except OSError:
        return None
    # After the name: state, ppid, ..., then utime, stime, cutime, cstime as fields 14 to 17 of the whole line.
    part = tail.split()
    return int(part[1]), sum(map(int, part[11:15])) / _TICKS, head.partition("(")[2]


def descendants() -> dict[int, tuple[float, str]]:
    """pid -> (CPU seconds with those of its reaped children, name) of every live descendant of this process."""
    children: dict[int, list[int]] = defaultdict(list)
    found: dict[int, tuple[float, str]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = _stat(name)
            if stat is not None:
                children[stat[0]].append(int(name))
                found[int(name)] = stat[1:]
    below, todo = {}, list(children[os.getpid()])
    while todo:
        pid = todo.pop()
        below[pid] = found[pid]
        todo += children[pid]
    return below


class CpuMeter:
    """CPU seconds spent by this process and its descendants, a number that never falls: since it was made, or with
    `imports` with what this process itself used before. Descendants that ended before the meter was made never count:
    they may be those of a program that became this one (a script that sets up and then runs us by exec).

    A descendant that dies passes its seconds to the parent that reaps it; between death and reaping, or where the
    parent died first, they are missing for a while or for good, so the highest sum seen so far is what counts.
    """

    # Walking /proc costs about 2 ms.
    INTERVAL = 1.0

    def __init__(self, imports: bool = False) -> None:
        before = os.times()
        self._base = before.children_user + before.children_system if imports else self._sum()
        self._highest = 0.0
        self._next = 0.0

    @staticmethod
    def _sum() -> float:
        own = os.times()
        below = sum(seconds for seconds, _ in descendants().values())
        return own.user + own.system + own.children_user + own.children_system + below

    def read(self, fresh: bool = False) -> float:
        """Seconds so far; up to a second old unless `fresh`."""
        now = time.monotonic()
        if fresh or now >= self._next:
            self._highest = max(self._highest, self._sum() - self._base)
            self._next = now + self.INTERVAL
        return self._highest
