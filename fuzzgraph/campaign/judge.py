"""What an outcome means for the campaign: feedback, the next tier, entries, findings."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fuzzgraph.corpus.records import EntryRecord, FindingRecord
from fuzzgraph.corpus.schedule import Scheduler, cost_of
from fuzzgraph.execution.protocol import Outcome
from fuzzgraph.feedback.encode import Ids
from fuzzgraph.feedback.features import Interner
from fuzzgraph.feedback.novelty import Novelty
from fuzzgraph.triage.known import KnownIssues
from fuzzgraph.triage.signature import Signature, signatures

from .clock import Clock
from .events import Bus, EntryAdded, Executed, FindingSeen, KnownSeen, Unconfirmed, Waiting
from .library import Library
from .supply import Supply
from .task import Task
from .tiers import Spending, after_compare, after_cover, confirmed

# Of the programs that gave a finding, so many are remembered.
HASHES_KEPT = 10


@dataclass
class Findings:
    """Confirmed findings by signature."""

    known: dict[str, FindingRecord] = field(default_factory=dict)

    def add(self, found: Signature, content_hash: str) -> tuple[FindingRecord, bool]:
        """Count one more; also say whether it is the first."""
        old = self.known.get(found.text)
        if old is None:
            record = FindingRecord(found.id, found.kind, found.text, found.title, 1, (content_hash,), time.time())
        else:
            hashes = old.hashes
            if content_hash not in hashes and len(hashes) < HASHES_KEPT:
                hashes = (*hashes, content_hash)
            record = replace(old, count=old.count + 1, hashes=hashes)
        self.known[found.text] = record
        return record, old is None


@dataclass
class Judge:
    """Takes outcomes in, publishes what they mean, and returns the program's next execution, if any."""

    seed: int
    interner: Interner
    novelty: Novelty
    scheduler: Scheduler
    library: Library
    supply: Supply
    spending: Spending
    findings: Findings
    bus: Bus
    clock: Clock
    deterministic: bool
    versions: Callable[[], dict[str, str]]
    issues: KnownIssues = field(default_factory=KnownIssues)

    def take(self, task: Task, outcome: Outcome) -> Task | None:
        with self.clock.section("feedback"):
            ids = self.interner.ids(outcome.features) if outcome.valid else self.interner.ids({})
            new = int(self.novelty.see(ids).size)
            filed = [(f, self.issues.find(f, task.program)) for f in outcome.failures]
            found = signatures([f for f, issue in filed if issue is None], task.program)
        if task.purpose == "cover":
            following = self._cover(task, outcome, new, found)
        elif task.purpose == "compare":
            following = self._compare(task, outcome, ids, found)
        else:
            following = None
            self._confirm(task, outcome, found)
        self.bus.publish(Executed(task, outcome, new, final=following is None))
        for name in sorted({issue.name for _, issue in filed if issue is not None}):
            if following is None or task.purpose != "cover":
                self.bus.publish(KnownSeen(name, task))
        keep = outcome.status in ("ok", "unstable") and not task.program.options.expects_error
        if task.purpose == "compare" and keep:
            self._keep(task, outcome, ids)
        if following is not None:
            self.bus.publish(Waiting(following))
        return following

    def _cover(self, task: Task, outcome: Outcome, new: int, found: list[Signature]) -> Task | None:
        cost = self._cost(outcome.cpu, task.nodes)
        self.supply.bandit.reward(task.origin.mutators, new, cost)
        self.spending.spent("cover", outcome.cpu)
        known = all(s.text in self.findings.known for s in found)
        suspects = tuple(s.text for s in found)
        if not outcome.valid or (outcome.failures and not found):  # no judge, or nothing but known issues
            return None
        purpose = after_cover(outcome.status, new, suspects, known, self.spending.sample())
        if purpose is None:
            return None
        if not new:  # what brought something new waits its turn, and is promised then
            self.spending.promise()
        return task.then(purpose, novel=new, suspects=suspects, kernels=() if suspects else outcome.kernels)

    def _compare(self, task: Task, outcome: Outcome, ids: Ids, found: list[Signature]) -> Task | None:
        # A proposal is compared at once; no promise was made for it.
        if task.first:
            self.spending.spent("compare", outcome.cpu)
        else:
            self.spending.settle(outcome.cpu)
        known = [s for s in found if s.text in self.findings.known]
        for each in known:
            self._report(each, task, outcome)
        fresh = tuple(s.text for s in found if s not in known)
        purpose = after_compare(outcome.status, fresh, known=not fresh)
        return None if purpose is None else task.then(purpose, suspects=fresh, kernels=())

    def _confirm(self, task: Task, outcome: Outcome, found: list[Signature]) -> None:
        self.spending.spent("confirm", outcome.cpu)
        stable = confirmed(task, tuple(s.text for s in found))
        for each in found:
            if each.text in stable:
                self._report(each, task, outcome)
        if not stable:
            self.bus.publish(Unconfirmed(task, task.suspects))

    def _report(self, found: Signature, task: Task, outcome: Outcome) -> None:
        record, first = self.findings.add(found, task.hash)
        self.bus.publish(FindingSeen(record, first, task, outcome))

    def _keep(self, task: Task, outcome: Outcome, ids: Ids) -> None:
        """Make it an entry if it has features that no entry has."""
        new = int(self.novelty.unowned(ids).size)
        if new == 0:
            return
        with self.clock.section("feedback"):
            number = len(self.library) + 1
            entry = EntryRecord(
                number, task.number, task.hash, task.origin.kind, task.origin.parent, task.origin.mutators, self.seed,
                outcome.cpu, task.nodes, new, outcome.status, outcome.versions or self.versions(), time.time(), ids,
                task.packed(),
            )  # fmt: skip
            self.adopt(entry)
        self.bus.publish(EntryAdded(entry, task, outcome))

    def adopt(self, entry: EntryRecord) -> None:
        """Take an entry into feedback, scheduler and library: a new one, or one of the store's at the start."""
        self.novelty.own(entry.features)
        self.scheduler.add(entry.id, entry.features, self._cost(entry.cost, entry.nodes), entry.picks)
        self.library.add(entry.id, entry.hash, entry.blob)

    def _cost(self, cpu: float, nodes: int) -> float:
        return cost_of(self.deterministic)(cpu, nodes)
