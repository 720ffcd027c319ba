"""A campaign with faults planted in it, watched from outside: after how many CPU seconds each was reached, and what was
found. All that is seen stands in the campaign's own database, so that nobody is disturbed by the watching."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fuzzgraph.corpus.store import Store, is_campaign
from fuzzgraph.corpus.tree import write_whole
from fuzzgraph.errors import FuzzgraphError, StoreError
from fuzzgraph.feedback.features import LINES

from . import _run
from .planted import Fault

FILE = "seen.json"
# Seconds between two looks: the resolution of all times.
POLL = 2.0


@dataclass
class Seen:
    """CPU seconds of the campaign: in all, until a fault was `reached`, until each program of a finding was there
    (`findings`: its id -> content hash). `done`: its time is spent."""

    cpu: float = 0.0
    programs: int = 0
    done: bool = False
    reached: dict[str, float] = field(default_factory=dict)
    findings: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def known(self) -> int:
        return len(self.reached) + sum(map(len, self.findings.values()))

    def save(self, directory: Path) -> None:
        write_whole(directory / FILE, json.dumps(asdict(self), indent=1) + "\n")


def load(directory: Path) -> Seen:
    """What an earlier run saved, or nothing."""
    file = directory / FILE
    return Seen(**_run.read_json(file)) if file.is_file() else Seen()


class Watched:
    """The campaign of one group, in `directory`/campaign."""

    def __init__(self, directory: Path, faults: Sequence[Fault]) -> None:
        self.directory, self.faults, self.campaign = directory, list(faults), directory / "campaign"
        directory.mkdir(parents=True, exist_ok=True)
        self.seen = load(directory)
        self._features = 0

    def conduct(self, cpu_seconds: float, seed: int, jobs: int, stopped: Callable[[], bool]) -> None:
        """Run or go on with the campaign to its end, or until `stopped`. Raises FuzzgraphError where it fails."""
        if self.seen.done:
            return
        options = ["-o", str(self.campaign), "--cpu-seconds", f"{cpu_seconds:g}", "--jobs", str(jobs), "--no-llm"]
        if is_campaign(self.campaign):
            options.append("--resume")
        else:
            options += ["--seed", str(seed), *(word for fault in self.faults for word in ("--preload", fault.path))]
        process = _run.start(["fuzz", *options], stdout=sys.stderr)
        try:
            while process.poll() is None:
                if stopped():
                    process.terminate()
                    process.wait()
                    break
                try:
                    process.wait(POLL)
                except subprocess.TimeoutExpired:
                    # It is being made, or busy: the next look tells.
                    with contextlib.suppress(StoreError):
                        self.look()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        # A campaign that is still starting when it is told to stop ends by the signal.
        if process.returncode != 0 and not stopped():
            raise FuzzgraphError(f"the campaign ended with exit status {process.returncode}", where=str(self.campaign))
        if is_campaign(self.campaign):
            with contextlib.suppress(*([StoreError] if stopped() else [])):
                self.look()
        self.seen.done = self.seen.cpu >= cpu_seconds
        self.seen.save(self.directory)
        if not self.seen.done and not stopped():
            raise FuzzgraphError("something ended the campaign before its time", where=str(self.campaign))

    def look(self) -> None:
        """Take in what the campaign has put away since last asked. Raises StoreError where its database cannot be read,
        as while it is being made."""
        store = Store(self.campaign, readonly=True)
        try:
            with store.snapshot():
                self._take(store)
        finally:
            store.close()

    def _take(self, store: Store) -> None:
        progress = store.state("progress") or {}
        before = self.seen.known
        self.seen.cpu, self.seen.programs = progress.get("cpu", 0.0), store.count("programs")
        for finding in store.findings():
            for program in finding.hashes:
                self.seen.findings.setdefault(finding.id, {}).setdefault(program, self.seen.cpu)
        left = [f for f in self.faults if f.lines and f.name not in self.seen.reached]
        if left and store.count("features") != self._features:
            fresh = [key.rpartition(":") for number, space, key in store.features()
                     if space == LINES and number >= self._features]  # fmt: skip
            lines = [(file, int(number)) for file, _, number in fresh]
            for fault in left:
                if fault.reached(lines):
                    self.seen.reached[fault.name] = self.seen.cpu
            self._features = store.count("features")
        if self.seen.known > before:
            self.seen.save(self.directory)
