"""Which planted fault a finding is of: its program is run again with each fault of its group alone, and with none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzzgraph.campaign.replay import Bench
from fuzzgraph.corpus import tree
from fuzzgraph.corpus.store import Store
from fuzzgraph.errors import FuzzgraphError
from fuzzgraph.execution.protocol import Failure, Outcome
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.wire import unpack
from fuzzgraph.triage import record
from fuzzgraph.triage.matching import Shows
from fuzzgraph.triage.signature import core, signature

from . import _run
from .planted import Fault

FILE = "attribution.json"
# The name of the replay with no fault planted.
NONE = ""
# How a replay showed a finding's failure: with the same core; another failure that the same oracle saw (with all
# faults of the group planted, another one had its hand in it); not at all.
SAME, ALIKE, NOT = "same", "alike", "no"
# Programs that are replayed between two looks at whether to stop, for each job.
CHUNK = 4

# Fault or NONE -> how the replay showed the failure.
Replays = dict[str, str]


@dataclass(frozen=True)
class Found:
    """A program of a finding, of which there may be several: what the campaign takes for one bug may be two faults.

    `failure` is what the finding is about, `cpu` when the program was there. `first`: the finding's own program.
    """

    id: str
    finding: str
    title: str
    cpu: float
    failure: Failure = field(repr=False)
    program: Program = field(repr=False)
    target: str = "inductor"
    first: bool = True


def findings(campaign: Path, times: Mapping[str, Mapping[str, float]]) -> tuple[list[Found], list[str]]:
    """The programs of a campaign's findings that `times` knows (finding -> content hash -> CPU seconds), in the order
    of time; and what is wrong with others."""
    found: list[Found] = []
    wrong: list[str] = []
    blobs = _blobs(campaign, {program for programs in times.values() for program in programs})
    for id, programs in times.items():
        try:
            finding = record.load(campaign / tree.FINDINGS / id)
            # As it was found: triage may have made it smaller, with other faults at work.
            original = finding.program(original=True)
            own = content_hash(original)
            named = [f for f in finding.failures if signature(f, original).text == finding.data["signature"]]
            failure = (named or [finding.failure])[0]
            for hash, cpu in programs.items():
                program = original if hash == own else unpack(blobs[hash])
                key = id if hash == own else f"{id}/{hash[:12]}"
                found.append(Found(key, id, finding.data["title"], cpu, failure, program, finding.target, hash == own))
        except FuzzgraphError as error:
            wrong.append(str(error))
    return sorted(found, key=lambda f: (f.cpu, f.id)), wrong


def _blobs(campaign: Path, hashes: set[str]) -> dict[str, bytes]:
    if not hashes:
        return {}
    store = Store(campaign, readonly=True)
    try:
        return {p.hash: p.blob for p in store.programs(blobs=True) if p.hash in hashes and p.blob is not None}
    finally:
        store.close()


def shows(outcome: Outcome, failure: Failure) -> str:
    """How a replay showed the failure: SAME, ALIKE or NOT."""
    if any(core(other) == core(failure) for other in outcome.failures):
        return SAME
    return ALIKE if Shows(failure)(outcome) else NOT


def causes(replays: Replays) -> list[str]:
    """The faults that a finding is of: its failure shows with each of them and not without; only where it shows with
    no fault alone do those count with which the same oracle sees another failure."""
    without = replays.get(NONE)
    same = sorted(name for name, how in replays.items() if name != NONE and how == SAME)
    if same:
        return same if without in (NOT, ALIKE) else []
    return sorted(name for name, how in replays.items() if name != NONE and how == ALIKE) if without == NOT else []


class Attribution:
    """Replays the findings of one group's campaign; each replay is kept in `directory`/attribution.json, so that
    another run goes on. `stopped` is asked now and then."""

    def __init__(
        self, directory: Path, faults: Sequence[Fault], found: Sequence[Found], stopped: Callable[[], bool],
        say: Callable[[str], None] = lambda line: None,
    ) -> None:  # fmt: skip
        self.directory, self.faults, self.found = directory, list(faults), list(found)
        self._stopped, self._say = stopped, say
        file = directory / FILE
        self.replays: dict[str, Replays] = _run.read_json(file) if file.is_file() else {}
        for finding in self.found:
            self.replays.setdefault(finding.id, {})

    def run(self, bench: Bench, jobs: int, complete: bool = False) -> None:
        """Replay, in the order of time, until each fault has a finding and each finding a cause; with `complete`, all
        programs with all faults. What is still open after that has neither."""
        known: dict[str, str] | None = None
        # A finding that one fault shows in another way may turn out to be another fault's: then the first one has none.
        while known != (known := self._firsts()) and not self._stopped():
            for fault in self.faults:
                self._first(bench, jobs, fault)
        for name in (*(fault.name for fault in self.faults), NONE):
            self._replay(bench, name, self.found if complete else self._open(), jobs)
        bench.release(())

    def _open(self) -> list[Found]:
        """The first programs of findings without a cause that are not torch's own."""
        known = {f.finding for f in self.found if causes(self.replays[f.id])}
        known |= {f.finding for f in self.own()}
        return [f for f in self.found if f.first and f.finding not in known]

    def _firsts(self) -> dict[str, str]:
        first = {fault.name: self.first(fault.name) for fault in self.faults}
        return {name: found.id for name, found in first.items() if found is not None}

    def _first(self, bench: Bench, jobs: int, fault: Fault) -> None:
        """Replay with this fault until a finding shows that is not torch's own."""
        for chunk in chunks(self.found, CHUNK * jobs):
            if self._stopped() or self.first(fault.name) is not None:
                break
            self._replay(bench, fault.name, chunk, jobs, keep=True)
            shown = [f for f in chunk if self.replays[f.id].get(fault.name) in (SAME, ALIKE)]
            self._replay(bench, NONE, shown, jobs, keep=True)
        bench.release(self._preload(fault.name))

    def first(self, fault: str) -> Found | None:
        """The earliest finding that is this fault's as far as replays say."""
        return next((f for f in self.found if fault in causes(self.replays[f.id])), None)

    def own(self) -> list[Found]:
        """Findings that show without any fault: torch's own."""
        return [f for f in self.found if f.first and self.replays[f.id].get(NONE) == SAME]

    def unexplained(self) -> list[Found]:
        """Findings that show neither with one fault alone nor with none."""
        asked = {NONE, *(fault.name for fault in self.faults)}
        return [f for f in self._open() if asked <= self.replays[f.id].keys()]

    def left(self) -> list[Found]:
        """Findings that are still to be replayed."""
        done = {f.id for f in self.unexplained()}
        return [f for f in self._open() if f.id not in done]

    def _replay(self, bench: Bench, fault: str, found: Sequence[Found], jobs: int, keep: bool = False) -> None:
        """Run the programs with one fault or with NONE, those left out that were already. `keep` the processes."""
        left = [f for f in found if fault not in self.replays[f.id]]
        preload = self._preload(fault)
        for number, chunk in enumerate(chunks(left, CHUNK * jobs)):
            if self._stopped():
                break
            self._say(f"{self.directory.name}: {fault or 'no fault'}: {number * CHUNK * jobs} of {len(left)} replays")
            asked = [bench.job(f.id, f.program, {"target": f.target}, [f.failure.oracle]) for f in chunk]
            for finding, outcome in zip(chunk, bench.executor(preload).run(asked), strict=True):
                self.replays[finding.id][fault] = shows(outcome, finding.failure)
            tree.write_whole(self.directory / FILE, json.dumps(self.replays, indent=1) + "\n")
        if not keep:
            bench.release(preload)

    def _preload(self, fault: str) -> tuple[str, ...]:
        return tuple(f.path for f in self.faults if f.name == fault)


def chunks(items: Sequence[Found], size: int) -> Iterator[Sequence[Found]]:
    return (items[start : start + size] for start in range(0, len(items), size))
