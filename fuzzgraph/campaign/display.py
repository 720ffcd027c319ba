"""What a person sees while a campaign runs: a live table on a terminal, one line a minute elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

from .events import Event, FindingSeen, Started, Stopped, Tick
from .summary import duration
from .tally import Tally
from .task import ORIGINS

INTERVAL = 60.0


def line(tally: Tally, elapsed: float, cpu: float, coverage: int, waiting: int = 0) -> str:
    programs = tally["programs"]
    rate = programs / cpu if cpu else 0.0
    return (
        f"{duration(elapsed)}: {programs} programs ({tally.valid_share:.1%} valid, {rate:.2f} a CPU s), "
        f"{tally['entries']} entries, {coverage} lines, {tally['findings']} findings"
        + f", {waiting} wait to be judged" * bool(waiting)
    )


class Headless:
    """One line a minute, and one for each new finding; none once nobody reads them, since a campaign outlives `head`
    and a lost connection."""

    def __init__(self, out: TextIO, tally: Tally, coverage: Callable[[], int]) -> None:
        self._out, self._tally, self._coverage = out, tally, coverage
        self._next, self._unread = 0.0, False

    def __call__(self, event: Event) -> None:
        match event:
            case Started():
                self._next = time.monotonic() + INTERVAL
                verb = "goes on" if event.resumed else "starts"
                self._say(f"campaign {verb}: seed {event.seed}, {event.entries} entries")
            case FindingSeen() if event.first:
                self._say(f"finding {event.finding.id}: {event.finding.title}")
            case Tick() if time.monotonic() >= self._next:
                self._next = time.monotonic() + INTERVAL
                self._say(line(self._tally, event.elapsed, event.cpu, self._coverage(), event.waiting))

    def _say(self, text: str) -> None:
        if self._unread:
            return
        try:
            self._out.write(text + "\n")
            self._out.flush()
        except BrokenPipeError:
            self._unread = True


class Terminal:
    """A live table, redrawn on each tick."""

    def __init__(self, tally: Tally, coverage: Callable[[], int], directory: str, budget: str) -> None:
        self._tally, self._coverage, self._directory, self._budget = tally, coverage, directory, budget
        self._live = Live(console=Console(), auto_refresh=False, transient=True)
        self._last: list[str] = []

    def __call__(self, event: Event) -> None:
        match event:
            case Started():
                self._live.start()
            case FindingSeen() if event.first:
                self._last = [*self._last[-3:], f"{event.finding.id}: {event.finding.title[:90]}"]
            case Tick():
                self._live.update(self._table(event), refresh=True)
            case Stopped():
                self._live.stop()

    def _table(self, event: Tick) -> Table:
        tally = self._tally
        table = Table(show_header=False, box=None, title=f"fuzzgraph: {self._directory}", title_justify="left")
        table.add_row("time", f"{duration(event.elapsed)} of {self._budget}, {event.cpu:,.0f} CPU s")
        programs = tally["programs"]
        rate = programs / event.cpu if event.cpu else 0.0
        made_so_far = f"{programs:,} ({tally.valid_share:.1%} valid), {rate:.2f} a CPU second"
        table.add_row("programs", f"{made_so_far}, {event.running} under way, {event.waiting} to judge")
        made = ", ".join(f"{tally[f'origin/{kind}/programs']} {word}" for kind, word in ORIGINS)
        table.add_row("", made)
        table.add_row("coverage", f"{self._coverage():,} compiler lines beyond the start-up's")
        table.add_row("corpus", f"{tally['entries']:,} entries")
        table.add_row("findings", f"{tally['findings']} (seen {tally['finding_duplicates']} times more)")
        for text in self._last:
            table.add_row("", text)
        table.add_row("", "Ctrl-C ends it; --resume goes on")
        return table
