"""scripts/torture_resume: kill a campaign at random moments, resume it, and see that nothing is lost."""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzzgraph.campaign import summary
from fuzzgraph.corpus import tree
from fuzzgraph.corpus.store import Store, is_campaign
from fuzzgraph.errors import FuzzgraphError
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.wire import unpack

from . import _run

DESCRIPTION = (
    "Run a campaign; at random moments kill -9 the engine, or one of its children and then the engine; resume; check "
    "after each kill that no entry is lost or damaged, that counters go on, and that status agrees with the store."
)


@dataclass(frozen=True)
class Kept:
    """What a campaign's directory holds at one time."""

    hashes: tuple[str, ...]
    entries: tuple[str, ...]
    findings: tuple[str, ...]
    executions: int
    next: int
    sessions: int
    features: int


def inspect(directory: Path) -> Kept:
    """Read and check the store. Raises FuzzgraphError on what must not be."""
    store = Store(directory)
    try:
        programs, entries, findings = list(store.programs(blobs=True)), list(store.entries()), list(store.findings())
        features, counters = list(store.features()), store.counters()
        pending = list(store.pending())
    finally:
        store.close()
    standing = summary.read(directory)
    for entry in entries:
        require(content_hash(unpack(entry.blob)) == entry.hash, f"entry {entry.id} is damaged")
        require(bool((entry.features < len(features)).all()), f"entry {entry.id} has features that are not stored")
        require(entry.hash in {p.hash for p in programs}, f"entry {entry.id} has no program")
    require([f[0] for f in features] == list(range(len(features))), "feature ids have gaps")
    require(standing.programs == len(programs) == counters.get("programs", 0), "status disagrees on programs")
    require(standing.entries == len(entries) == counters.get("entries", 0), "status disagrees on entries")
    require(len(standing.findings) == len(findings) == counters.get("findings", 0), "status disagrees on findings")
    lost = counters.get("lost", 0)
    require(standing.valid + standing.invalid + standing.broken + lost == standing.programs, "programs do not add up")
    for finding in findings:
        require((directory / tree.FINDINGS / finding.id / "repro.py").is_file(), f"{finding.id} has no folder")
    for record in pending:
        require(content_hash(unpack(record.payload["program"])) == record.payload["hash"], "a pending one is damaged")
    return Kept(
        tuple(p.hash for p in programs), tuple(e.hash for e in entries), tuple(f.id for f in findings),
        standing.executions, standing.next, standing.sessions, len(features),
    )  # fmt: skip


def require(condition: bool, complaint: str) -> None:
    if not condition:
        raise FuzzgraphError(complaint)


def compare(before: Kept, after: Kept) -> None:
    """Nothing that was committed may be gone, and every counter goes on."""
    require(set(before.hashes) <= set(after.hashes), "programs lost")
    require(after.entries[: len(before.entries)] == before.entries, "entries lost or in another order")
    require(set(before.findings) <= set(after.findings), "findings lost")
    for name in ("executions", "next", "sessions", "features"):
        require(getattr(after, name) >= getattr(before, name), f"{name} went back")


def descendants(pid: int) -> list[int]:
    found, todo = [], [pid]
    while todo:
        for task in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            try:
                children = [int(word) for word in task.read_text().split()]
            except OSError:
                continue
            found += children
            todo += children
    return found


def one_round(
    directory: Path, options: Sequence[str], rng: random.Random, patience: float, say: Callable[[str], None]
) -> None:
    """Start or resume, let it get going, kill a child or not, kill the engine."""
    resume = ["--resume"] if is_campaign(directory) else []
    process = _run.start(["fuzz", "-o", str(directory), *options, *resume], stdout=sys.stderr)
    deadline = time.monotonic() + patience
    before = executions(directory)
    while executions(directory) <= before:
        if process.poll() is not None:
            raise FuzzgraphError(f"the campaign ended by itself with status {process.returncode}")
        require(time.monotonic() < deadline, f"no program was executed in {patience:.0f} s")
        time.sleep(0.2)
    time.sleep(rng.uniform(0.0, 4.0))
    below = descendants(process.pid)
    if below and rng.random() < 0.5:
        victim = rng.choice(below)
        say(f"kill -9 child {victim}")
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            say("it was gone")
        time.sleep(rng.uniform(0.0, 4.0))
    say("kill -9 engine")
    process.kill()
    process.wait()
    await_end([*below, *descendants(process.pid)])


def executions(directory: Path) -> int:
    if not is_campaign(directory):
        return 0
    try:
        return summary.read(directory).executions
    except FuzzgraphError:
        # It is being made.
        return 0


def await_end(pids: Sequence[int], patience: float = 60.0) -> None:
    """Harness processes end by themselves when the engine is gone."""
    deadline = time.monotonic() + patience
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        require(time.monotonic() < deadline, "processes outlive the engine")
        time.sleep(0.2)


def torture(
    directory: Path, rounds: int, options: Sequence[str], seed: int = 0, patience: float = 300.0,
    say: Callable[[str], None] = lambda text: None,
) -> Kept:  # fmt: skip
    """Raises FuzzgraphError at the first thing that is lost."""
    rng = random.Random(seed)
    kept: Kept | None = None
    for number in range(rounds):
        one_round(directory, options, rng, patience, say)
        now = inspect(directory)
        if kept is not None:
            compare(kept, now)
        kept = now
        say(f"round {number + 1} of {rounds}: {len(now.hashes)} programs, {len(now.entries)} entries: nothing lost")
    assert kept is not None
    return kept


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="torture_resume", description=DESCRIPTION)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the moments, and of the campaign")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="default: a temporary one")
    args, more = parser.parse_known_args(argv)
    with tempfile.TemporaryDirectory(prefix="fuzzgraph-torture-") as folder:
        directory = args.output or Path(folder) / "campaign"
        options = ["--seed", str(args.seed), "--no-llm", "--no-triage", *more]
        torture(directory, args.rounds, options, args.seed, say=lambda text: print(text, flush=True))
    return 0


if __name__ == "__main__":
    sys.exit(_run.report(main))
