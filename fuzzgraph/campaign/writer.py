"""Storage: writes what happened to the campaign directory, one transaction a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fuzzgraph.corpus import tree
from fuzzgraph.corpus.records import PendingRecord, ProgramRecord
from fuzzgraph.corpus.store import Store
from fuzzgraph.execution.protocol import Outcome
from fuzzgraph.ir.program import Program
from fuzzgraph.triage import folder
from fuzzgraph.triage.signature import signatures

from .clock import Clock
from .config import Config
from .events import Checkpoint, EntryAdded, Event, Executed, FindingSeen, Waiting
from .tally import Tally
from .task import Task


class Writer:
    """Subscribes to the events. Between checkpoints it only remembers; a checkpoint writes all of it or nothing.

    Files of the tree come before their row in the database, and a missing one is made again when the campaign is
    opened, so a kill in between leaves at most a file whose row comes again.
    """

    def __init__(
        self, store: Store, tally: Tally, config: Config, clock: Clock,
        format: Callable[[Program], str], reproducer: Callable[[Task, Outcome, str], str],
    ) -> None:  # fmt: skip
        self._store, self._tally, self._config, self._clock = store, tally, config, clock
        self._format, self._reproducer = format, reproducer
        self._later: list[Callable[[], None]] = []

    @property
    def directory(self) -> Path:
        return self._store.directory

    def __call__(self, event: Event) -> None:
        with self._clock.section("store"):
            match event:
                case Executed():
                    self._executed(event)
                case Waiting():
                    record = PendingRecord(event.task.number, event.task.payload())
                    self._later.append(lambda: self._store.put_pending(record))
                case EntryAdded():
                    entry = event.entry
                    tree.write_entry(self.directory, entry.hash, self._format(event.task.program))
                    self._later.append(lambda: self._store.put_entry(entry))
                case FindingSeen():
                    if event.first:
                        self._write_folder(event.finding.id, event.task, event.outcome)
                    self._later.append(lambda: self._store.put_finding(event.finding))
                case Checkpoint():
                    self._commit(event)

    def _executed(self, event: Executed) -> None:
        task, outcome, origin = event.task, event.outcome, event.task.origin
        # Most programs are only covered, and are not worth their bytes.
        blob = None if task.purpose == "cover" and outcome.status == "ok" else task.packed()
        record = ProgramRecord(
            task.number, task.hash, origin.kind, origin.parent, origin.mutators, outcome.status, task.purpose,
            outcome.cpu, task.nodes, blob,
        )  # fmt: skip
        self._later.append(lambda: self._store.put_program(record))
        # One that is executed again is put back by the Waiting event that follows.
        self._later.append(lambda: self._store.drop_pending(task.number))

    def _write_folder(self, finding: str, task: Task, outcome: Outcome) -> None:
        for found in signatures(outcome.failures, task.program):
            if found.id == finding:
                discovery = folder.Discovery(
                    task.hash, task.number, self._config.seed, task.origin.parent, task.origin.mutators,
                    self._config.target, self._config.preload,
                )  # fmt: skip
                text = self._format(task.program)
                script = self._reproducer(task, outcome, found.title)
                files = folder.files(found, outcome, text, script, discovery)
                tree.write_folder(self.directory / tree.FINDINGS / finding, files)
                return

    def _commit(self, event: Checkpoint) -> None:
        later, self._later = self._later, []
        with self._store.transaction():
            self._store.put_features(event.features)
            for write in later:
                write()
            self._store.put_picks(event.picks)
            self._store.put_counters(self._tally.take_dirty())
            for name, value in event.state.items():
                self._store.put_state(name, value)


def mend_tree(store: Store, format: Callable[[bytes], str]) -> None:
    """Make the files of entries what the store says, after a kill. `format` takes a packed program."""
    there = {path.name: path for path in (store.directory / tree.ENTRIES).glob("*.fg")}
    for entry in store.entries():
        if there.pop(tree.entry_file(store.directory, entry.hash).name, None) is None:
            tree.write_entry(store.directory, entry.hash, format(entry.blob))
    for orphan in there.values():
        orphan.unlink()
