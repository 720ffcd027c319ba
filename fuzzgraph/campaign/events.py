"""What happens in a campaign, as values; storage, statistics and displays subscribe to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fuzzgraph.corpus.records import EntryRecord, FindingRecord

from .task import Origin, Task

if TYPE_CHECKING:
    from fuzzgraph.execution.protocol import Outcome


@dataclass(frozen=True)
class Started:
    """The campaign begins, or goes on after a resume."""

    seed: int
    resumed: bool
    entries: int


@dataclass(frozen=True)
class Attempted:
    """A mutator was asked for a variant; `made` is False where it declined."""

    mutator: str
    made: bool
    cpu: float


@dataclass(frozen=True)
class Dropped:
    """A program that was made but not executed: a duplicate, or one that could not be made (`reason`)."""

    number: int
    origin: Origin
    reason: str


@dataclass(frozen=True)
class Executed:
    """An outcome came in. `new`: features that no execution had shown before; `final`: no more executions follow."""

    task: Task
    outcome: Outcome
    new: int
    final: bool


@dataclass(frozen=True)
class Waiting:
    """A program is to be executed once more; a killed campaign takes it up again from here."""

    task: Task


@dataclass(frozen=True)
class EntryAdded:
    entry: EntryRecord
    task: Task
    outcome: Outcome


@dataclass(frozen=True)
class FindingSeen:
    """A confirmed failure: `first` if no earlier one had its signature."""

    finding: FindingRecord
    first: bool
    task: Task
    outcome: Outcome


@dataclass(frozen=True)
class KnownSeen:
    """A failure that is a known issue's: counted, not reported."""

    issue: str
    task: Task


@dataclass(frozen=True)
class Unconfirmed:
    """A failure that did not come again in a fresh process."""

    task: Task
    signatures: tuple[str, ...]


@dataclass(frozen=True)
class Checkpoint:
    """All events so far belong together: after this, nothing of them may be lost. `state` is what a resume needs."""

    state: dict[str, Any]
    features: list[tuple[int, str, str]]
    picks: dict[int, int]


@dataclass(frozen=True)
class Tick:
    """About once a second. `waiting`: programs that are to be executed once more, to be judged."""

    elapsed: float
    cpu: float
    running: int
    waiting: int = 0


@dataclass(frozen=True)
class Stopped:
    reason: str
    elapsed: float
    cpu: float


Event = (
    Started | Attempted | Dropped | Executed | Waiting | EntryAdded | FindingSeen | KnownSeen | Unconfirmed
    | Checkpoint | Tick | Stopped
)
Subscriber = Callable[[Event], None]


class Bus:
    """Delivers each event to every subscriber, in the order in which they subscribed."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.append(subscriber)

    def publish(self, event: Event) -> None:
        for subscriber in self._subscribers:
            subscriber(event)
