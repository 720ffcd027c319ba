"""Programs that wait for their next execution."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator

from .task import Task


class Backlog:
    """Urgent programs in the order of their coming; patient ones, most new features first.

    Patient is what only brought new coverage: it can wait until its share of the CPU is due, and many more programs
    are covered for the price of judging it. Proposals, failures and what a stop cut off are urgent.
    """

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._urgent: deque[Task] = deque()
        self._patient: list[tuple[int, int, Task]] = []
        for task in tasks:
            self.append(task)

    def append(self, task: Task) -> None:
        if task.purpose == "compare" and not task.first and not task.suspects:
            heapq.heappush(self._patient, (-task.novel, task.number, task))
        else:
            self._urgent.append(task)

    def pop(self, afford: bool) -> Task | None:
        """The next program; a patient one only if it can be afforded."""
        if self._urgent:
            return self._urgent.popleft()
        return heapq.heappop(self._patient)[2] if afford and self._patient else None

    def pop_cut_off(self) -> Task | None:
        """The next program if it is one that a stop cut off before its first execution."""
        ready = self._urgent and self._urgent[0].purpose == "cover"
        return self._urgent.popleft() if ready else None

    @property
    def urgent(self) -> int:
        return len(self._urgent)

    @property
    def patient(self) -> int:
        return len(self._patient)

    def __len__(self) -> int:
        return len(self._urgent) + len(self._patient)

    def __iter__(self) -> Iterator[Task]:
        return iter([*self._urgent, *(task for _, _, task in sorted(self._patient, key=lambda item: item[:2]))])
