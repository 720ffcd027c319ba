"""stats.jsonl: one row a minute and one at the end, all of one schema."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .clock import Clock
from .events import Event, Started, Stopped, Tick
from .tally import Tally

FILE = "stats.jsonl"
SCHEMA = 1
INTERVAL = 60.0


class StatsFile:
    """Appends rows to `stats.jsonl`.

    A row: schema, time (Unix), elapsed and cpu (seconds, all sessions), the totals by name, features, `status` by tier,
    `origins`, `mutators` and `rules` (name -> counters, see tally.Tally), `engine` (CPU seconds of the engine by
    section, all sessions), `llm` (its statistics or null), `end` (why it stopped, "" while it runs).
    """

    def __init__(
        self, directory: Path, tally: Tally, clock: Clock, features: Callable[[], int],
        llm: Callable[[], dict[str, Any] | None] = lambda: None,
    ) -> None:  # fmt: skip
        self.path = directory / FILE
        self._tally, self._clock, self._features, self._llm = tally, clock, features, llm
        self._next = 0.0

    def __call__(self, event: Event) -> None:
        match event:
            case Started():
                self._next = time.monotonic() + INTERVAL
            case Tick() if time.monotonic() >= self._next:
                self._next = time.monotonic() + INTERVAL
                self._write(event.elapsed, event.cpu, "")
            case Stopped():
                self._write(event.elapsed, event.cpu, event.reason)

    def _write(self, elapsed: float, cpu: float, end: str) -> None:
        with self._clock.section("display"):
            row = {"schema": SCHEMA, "time": round(time.time(), 3), **self.row(elapsed, cpu), "end": end}
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    def row(self, elapsed: float, cpu: float) -> dict[str, Any]:
        tally = self._tally
        return {
            "elapsed": round(elapsed, 3),
            "cpu": round(cpu, 3),
            **totals(tally),
            "features": self._features(),
            "status": tally.group("status"),
            "origins": tally.group("origin"),
            "mutators": tally.group("mutator"),
            "rules": tally.group("rule"),
            "engine": {name: round(s, 3) for name, s in sorted(self._clock.seconds.items())},
            "llm": self._llm(),
        }


TOTALS = (
    "programs", "valid", "invalid", "broken", "executions", "entries", "findings", "finding_duplicates", "unconfirmed",
)  # fmt: skip


def totals(tally: Tally) -> dict[str, int | float]:
    dropped = sum(v for name, v in tally.values.items() if name.startswith("dropped/"))
    return {**{name: tally[name] for name in TOTALS}, "dropped": dropped}
