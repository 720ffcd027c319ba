"""A campaign's standing, from its store alone: what `status` shows and a campaign says at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fuzzgraph.corpus import tree
from fuzzgraph.corpus.lock import holder
from fuzzgraph.corpus.records import FindingRecord
from fuzzgraph.corpus.store import Store
from fuzzgraph.feedback.features import LINES

from .traits import COMPILED, PREFIX, Shares

# The folders whose lines `scripts/measure_coverage` counts, of those that are instrumented.
COUNTED = ("_inductor", "_dynamo", "_functorch", "_decomp")


@dataclass(frozen=True)
class Standing:
    """`lines` are covered lines beyond the start-up's by folder; `running` is the pid of a live campaign. `broken` are
    programs made to raise, which count as neither valid nor invalid. `traits`: those that some program had."""

    directory: str
    running: int | None
    seed: int
    sessions: int
    programs: int
    valid: int
    invalid: int
    broken: int
    executions: int
    entries: int
    pending: int
    features: int
    lines: dict[str, int]
    findings: list[dict[str, Any]]
    finding_duplicates: int
    unconfirmed: int
    known: dict[str, int]
    elapsed: float
    cpu: float
    next: int
    mutators: dict[str, dict[str, float]]
    traits: Shares

    @property
    def valid_share(self) -> float:
        meant = self.programs - self.broken
        return self.valid / meant if meant else 1.0

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "valid_share": round(self.valid_share, 4), "lines_total": counted(self.lines)}


def read(directory: Path) -> Standing:
    """Raises StoreError where there is no campaign or its database cannot be read."""
    store = Store(directory, readonly=True)
    try:
        with store.snapshot():
            return _read(directory, store)
    finally:
        store.close()


def _read(directory: Path, store: Store) -> Standing:
    counters, progress = store.counters(), store.state("progress") or {}
    lines: dict[str, int] = {}
    features = 0
    for _, space, key in store.features():
        features += 1
        if space == LINES:
            top = key.split("/", 1)[0]
            lines[top] = lines.get(top, 0) + 1
    mutators: dict[str, dict[str, float]] = {}
    traits: dict[str, dict[str, int]] = {}
    for name, value in counters.items():
        kind, _, rest = name.partition("/")
        if kind == "mutator":
            mutator, _, what = rest.rpartition("/")
            mutators.setdefault(mutator, {})[what] = value
        elif name.startswith(PREFIX):
            group, _, trait = rest.partition("/")
            traits.setdefault(group, {})[trait] = int(value)
    return Standing(
        directory=str(directory),
        running=holder(directory),
        seed=store.state("seed") or 0,
        sessions=progress.get("sessions", 0),
        programs=store.count("programs"),
        valid=int(counters.get("valid", 0)),
        invalid=int(counters.get("invalid", 0)),
        broken=int(counters.get("broken", 0)),
        executions=int(counters.get("executions", 0)),
        entries=store.count("entries"),
        pending=store.count("pending"),
        features=features,
        lines=dict(sorted(lines.items())),
        findings=[finding_row(directory, finding) for finding in store.findings()],
        finding_duplicates=int(counters.get("finding_duplicates", 0)),
        unconfirmed=int(counters.get("unconfirmed", 0)),
        known={n.removeprefix("known/"): int(v) for n, v in counters.items() if n.startswith("known/")},
        elapsed=progress.get("elapsed", 0.0),
        cpu=progress.get("cpu", 0.0),
        next=progress.get("next", 0),
        mutators=mutators,
        traits=Shares(int(counters.get(COMPILED, 0)), traits),
    )


def finding_row(directory: Path, finding: FindingRecord) -> dict[str, Any]:
    return {**asdict(finding), "path": str(directory / tree.FINDINGS / finding.id)}


def counted(lines: Mapping[str, int]) -> int:
    """Lines in the folders that are counted."""
    return sum(lines.get(top, 0) for top in COUNTED)


def text(standing: Standing) -> str:
    """Several lines for people."""
    s = standing
    rate = s.programs / s.cpu if s.cpu else 0.0
    rows = [
        ("programs", f"{s.programs:,} ({s.valid_share:.1%} valid), {rate:.2f} a CPU second"),
        ("time", f"{duration(s.elapsed)}, {s.cpu:,.0f} CPU s" + (f", {s.sessions} sessions" if s.sessions > 1 else "")),
        ("coverage", f"{counted(s.lines):,} compiler lines beyond the start-up's"),
        ("corpus", f"{s.entries:,} entries in {Path(s.directory) / tree.ENTRIES}"),
        ("findings", f"{len(s.findings)} (seen {s.finding_duplicates} times more)"),
    ]
    if s.known:
        rows.append(("known", ", ".join(f"{name} x{count}" for name, count in s.known.items())))
    if s.running is not None:
        rows.insert(0, ("running", f"process {s.running}"))
    lines = [f"  {name:<10}{value}" for name, value in rows]
    for kind, found in _by_kind(s.findings).items():
        lines.append(f"  {kind} ({len(found)}):")
        lines += [f"    {f['path']}  x{f['count']}  {f['title'][:100]}" for f in found]
    return "\n".join(lines)


def advice(standing: Standing) -> str:
    """What to do next."""
    if standing.findings:
        first = standing.findings[0]["path"]
        return f"Next: fuzzgraph triage {standing.directory} reports them; python {first}/repro.py shows one."
    return f"Next: fuzzgraph fuzz -o {standing.directory} --resume goes on from here."


def _by_kind(findings: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    kinds: dict[str, list[dict[str, Any]]] = {}
    for finding in findings:
        kinds.setdefault(finding["kind"], []).append(finding)
    return kinds


def duration(seconds: float) -> str:
    seconds = int(seconds)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{seconds % 60:02}s" if minutes else f"{seconds}s"
