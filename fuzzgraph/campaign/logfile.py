"""log: what a person would want to read afterwards, a line each."""

from __future__ import annotations

import time
import traceback
from pathlib import Path

from .events import Event, Executed, FindingSeen, Started, Stopped, Unconfirmed

FILE = "log"
# The same trouble of the same mutator is told so often; after that it is only counted.
REPEATS = 3
# Invalid programs of a session that are told one by one: they are a fault of a rule, a mutator or the generator.
INVALID = 200


class LogFile:
    """Subscribes to the events; `write` takes what is no event (`what` says of whom)."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        self._told: dict[str, int] = {}
        self._invalid = 0

    def __call__(self, event: Event) -> None:
        match event:
            case Started():
                verb = "goes on" if event.resumed else "starts"
                self.write(f"campaign {verb}: seed {event.seed}, {event.entries} entries")
            case FindingSeen() if event.first:
                self.write(f"finding {event.finding.id}: {event.finding.title} (program {event.task.number})")
            case Unconfirmed():
                self.write(f"not confirmed: program {event.task.number}: {'; '.join(event.signatures)}")
            case Executed() if event.outcome.status == "lost":
                self.write(f"lost: {_what(event)}")
            case Executed() if not event.outcome.valid and event.task.first and self._invalid < INVALID:
                self._invalid += 1
                self.write(f"invalid: {_what(event)}")
            case Stopped():
                self.write(f"campaign stops: {event.reason}; {event.elapsed:.0f} s, {event.cpu:.0f} CPU s")

    def write(self, text: str) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")

    def trouble(self, what: str, error: BaseException) -> None:
        """An exception that cost one program only."""
        key = f"{what}: {type(error).__name__}: {error}"
        self._told[key] = self._told.get(key, 0) + 1
        if self._told[key] <= REPEATS:
            self.write(key + "\n" + "".join(traceback.format_exception(error)).rstrip())


def _what(event: Executed) -> str:
    task, error = event.task, event.outcome.error
    origin = " ".join((task.origin.kind, *task.origin.mutators))
    said = f"{error.type}: {error.message}" if error is not None else event.outcome.output
    return f"program {task.number} ({origin}): {' '.join(said.split())[:300]}"
