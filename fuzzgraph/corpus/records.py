"""The rows of the store, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzzgraph.feedback.encode import Ids


@dataclass(frozen=True)
class ProgramRecord:
    """One program of the campaign, whatever became of it.

    `number` is its place in the campaign (its random stream), `blob` its msgpack form where it was compared.
    `mutators` is the chain that made it from `parent` (a content hash), first to last.
    """

    number: int
    hash: str
    origin: str
    parent: str | None
    mutators: tuple[str, ...]
    status: str
    tier: str
    cpu: float
    nodes: int
    blob: bytes | None = None


@dataclass(frozen=True)
class EntryRecord:
    """A corpus program: `features` is its own full set, measured in a process of its own; `cost` in CPU seconds."""

    id: int
    number: int
    hash: str
    origin: str
    parent: str | None
    mutators: tuple[str, ...]
    seed: int
    cost: float
    nodes: int
    new: int
    status: str
    versions: dict[str, str]
    created: float
    features: Ids
    blob: bytes
    picks: int = 0


@dataclass(frozen=True)
class FindingRecord:
    """A deduplicated failure. `signature` is its key, `count` how often it was seen, `hashes` the first programs."""

    id: str
    kind: str
    signature: str
    title: str
    count: int
    hashes: tuple[str, ...]
    created: float


@dataclass(frozen=True)
class PendingRecord:
    """A program between two executions, so that a killed campaign takes it up again."""

    number: int
    payload: dict[str, Any] = field(default_factory=dict)
