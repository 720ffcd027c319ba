"""Triage beside a campaign, on CPU time that nobody else wants: `fuzzgraph triage` in a process of its own, again and
again while there are findings that it has not seen. What it cannot finish, the user's own `fuzzgraph triage` does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fuzzgraph.resources import environment

from .config import Config
from .events import Event, FindingSeen, Stopped, Tick

LOG = "triage.log"
# Least priority but one that still comes to an end: at 19 a busy machine leaves it 1 % of a core.
NICE = 10
# Seconds that it gets to put away what it does.
GRACE = 20.0


class SpareTriage:
    """Subscribes to the events. `command` is what to run; its output goes to `directory`/triage.log."""

    def __init__(self, directory: Path, command: Sequence[str]) -> None:
        self.directory, self.command = directory, list(command)
        self._wanted = False
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, event: Event) -> None:
        match event:
            case FindingSeen() if event.first:
                self._wanted = True
            case Tick() if self._wanted and not self._running():
                self._start()
            case Stopped():
                self.end()

    def end(self) -> None:
        """End what runs; triage records each step, so nothing but the step at hand is lost."""
        if self._running():
            assert self._process is not None
            self._process.terminate()
            try:
                self._process.wait(GRACE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _start(self) -> None:
        self._wanted = False
        with open(self.directory / LOG, "ab") as log:
            # A group of its own: a Ctrl-C is the campaign's, which then ends this.
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0, env=environment()
            )
        try:
            os.setpriority(os.PRIO_PROCESS, self._process.pid, NICE)
        except ProcessLookupError:  # it has ended already; its log says why
            pass


def spare_triage(directory: Path, config: Config) -> SpareTriage | None:
    """None where the user does not want it, and where CPU seconds are counted or the sequence of programs is fixed:
    there nothing may run beside the campaign."""
    if config.no_triage or config.deterministic or config.cpu_seconds:
        return None
    known = [word for file in config.known for word in ("--known", file)]
    command = [sys.executable, "-P", "-m", "fuzzgraph", "triage", str(directory.resolve()), "--jobs", "1", *known]
    return SpareTriage(directory, command)
