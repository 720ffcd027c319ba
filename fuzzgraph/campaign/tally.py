"""Counters of a campaign: totals, per tier, per origin, per mutator, per rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fuzzgraph.ir.program import op_of

from .events import Attempted, Dropped, EntryAdded, Event, Executed, FindingSeen, KnownSeen, Unconfirmed
from .task import Task

if TYPE_CHECKING:
    from fuzzgraph.execution.protocol import Outcome

Number = int | float
TIMEOUTS = ("timeout", "memory")


class Tally:
    """Adds up events. Names: `programs`, `status/TIER/STATUS`, `origin/KIND/WHAT`, `mutator/NAME/WHAT`, `rule/OP/WHAT`.

    WHAT is one of attempts, declines, errors (mutators), programs, invalid, timeouts, interesting, findings, cpu.
    `invalid` counts programs whose reference raised; `valid` those whose reference ran. Programs that are made to raise
    are neither: `broken` counts them.
    """

    def __init__(self, start: Mapping[str, Number] | None = None) -> None:
        self.values: dict[str, Number] = dict(start or {})
        self._dirty: set[str] = set()

    def __getitem__(self, name: str) -> Number:
        return self.values.get(name, 0)

    def add(self, name: str, amount: Number = 1) -> None:
        self.values[name] = self.values.get(name, 0) + amount
        self._dirty.add(name)

    def take_dirty(self) -> dict[str, Number]:
        """Counters that changed since last asked."""
        changed = {name: self.values[name] for name in sorted(self._dirty)}
        self._dirty.clear()
        return changed

    def group(self, prefix: str) -> dict[str, dict[str, Number]]:
        """`prefix/NAME/WHAT` counters as NAME -> WHAT -> number."""
        found: dict[str, dict[str, Number]] = {}
        for name, value in self.values.items():
            if name.startswith(prefix + "/"):
                key, _, what = name[len(prefix) + 1 :].rpartition("/")
                found.setdefault(key, {})[what] = value
        return found

    def __call__(self, event: Event) -> None:
        match event:
            case Attempted():
                self.add(f"mutator/{event.mutator}/attempts")
                if not event.made:
                    self.add(f"mutator/{event.mutator}/declines")
            case Dropped():
                self.add(f"dropped/{event.reason}")
                for name in event.origin.mutators:
                    self.add(f"mutator/{name}/dropped")
            case Executed():
                self._executed(event.task, event.outcome)
            case EntryAdded():
                self.add("entries")
                self._credit(event.task, "interesting")
            case FindingSeen():
                self.add("findings" if event.first else "finding_duplicates")
                if event.first:
                    self._credit(event.task, "findings")
            case KnownSeen():
                self.add(f"known/{event.issue}")
            case Unconfirmed():
                self.add("unconfirmed")

    def _executed(self, task: Task, outcome: Outcome) -> None:
        self.add("executions")
        self.add("cpu/executed", outcome.cpu)
        self.add("cpu/compiler", outcome.cpu_below)
        self.add(f"cpu/{task.purpose}", outcome.cpu)
        self.add(f"status/{task.purpose}/{outcome.status}")
        self._credit(task, "cpu", outcome.cpu)
        if outcome.status in TIMEOUTS:
            self._credit(task, "timeouts")
        if task.first:
            self.add("programs")
            self._credit(task, "programs")
            self._validity(task, outcome)

    def _validity(self, task: Task, outcome: Outcome) -> None:
        if outcome.status == "lost":
            self.add("lost")
        elif task.program.options.expects_error:
            self.add("broken")
        elif outcome.valid:
            self.add("valid")
        else:
            self.add("invalid")
            self._credit(task, "invalid")

    @property
    def valid_share(self) -> float:
        """Valid ones of the programs that are meant to be."""
        meant = self["programs"] - self["broken"]
        return self["valid"] / meant if meant else 1.0

    def _credit(self, task: Task, what: str, amount: Number = 1) -> None:
        self.add(f"origin/{task.origin.kind}/{what}", amount)
        for name in sorted(set(task.origin.mutators)):
            self.add(f"mutator/{name}/{what}", amount)
        for op in sorted({op_of(node) for node in task.program.nodes()}):
            self.add(f"rule/{op}/{what}", amount)
