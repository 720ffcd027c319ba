"""scripts/bench_faults: which planted faults unaided campaigns find in a given CPU time."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fuzzgraph.campaign.config import cores
from fuzzgraph.corpus.tree import write_whole
from fuzzgraph.errors import UsageError
from fuzzgraph.rng import Streams
from fuzzgraph.torch_compat import installed_torch

from . import _run, attribution, planted, watching
from .planted import Fault, Skipped

DESCRIPTION = (
    "Plant the faults of a folder, in groups of mixed difficulty, and run a campaign on each group: seeds as shipped, "
    "default options, no hint. Then replay what each campaign found (all programs of a finding, since two faults may "
    "look like one bug) with each fault of its group alone and with none, and say which faults were found. The CPU "
    "minutes are divided among the campaigns; replays are not in them. Exit "
    "status 1 when fewer than 80 % of the faults of difficulty 1-3 or 40 % of 4-5 were found, or when it was stopped."
)
# Difficulties that are counted together, and the share of each that should be found.
CLASSES = {"1-3": (range(1, 4), 0.8), "4-5": (range(4, 6), 0.4)}
PLAN, RESULT = "plan.json", "result.json"
TARGET = "inductor"
REPLAY_TIMEOUT = 60.0


@dataclass(frozen=True)
class Row:
    """What came of one fault: CPU seconds of its group's campaign until it was reached and found; None: it was not
    (`watched` is False where nobody can tell whether it was reached)."""

    fault: str
    difficulty: int
    kind: str
    group: int
    reached: float | None = None
    found: float | None = None
    finding: str = ""
    title: str = ""
    oracle: str = ""
    watched: bool = True


@dataclass
class FaultBench:
    """What is measured, in `directory`: each group's campaign and replays lie in a folder of its number."""

    directory: Path
    seed: int
    cpu_minutes: float
    jobs: int
    groups: list[list[Fault]]
    skipped: list[Skipped]
    stopped: Callable[[], str] = lambda: ""
    complete: bool = False
    timeout: float = REPLAY_TIMEOUT
    watched: list[watching.Watched] = field(default_factory=list)
    attributions: list[attribution.Attribution] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def run(self) -> None:
        """All campaigns, then all replays; ends early when `stopped` says why."""
        for number, group in enumerate(self.groups, 1):
            self.watched.append(watching.Watched(self.directory / str(number), group))
        seconds = 60 * self.cpu_minutes / len(self.groups)
        for number, watched in enumerate(self.watched, 1):
            if not self.stopped():
                say(f"group {number} of {len(self.groups)}: {', '.join(fault.name for fault in watched.faults)}")
                watched.conduct(seconds, self.seed + number - 1, self.jobs, lambda: bool(self.stopped()))
        for watched in self.watched:
            found, wrong = attribution.findings(watched.campaign, watched.seen.findings)
            self.wrong += wrong
            made = attribution.Attribution(
                watched.directory, watched.faults, found, lambda: bool(self.stopped()), say
            )  # fmt: skip
            self.attributions.append(made)
        self._replay()

    def _replay(self) -> None:
        from fuzzgraph.campaign.replay import Bench

        with Bench(TARGET, None, self.timeout, jobs=self.jobs) as bench:
            for watched, made in zip(self.watched, self.attributions, strict=True):
                if not self.stopped():
                    self._baseline(bench, watched)
                    made.run(bench, self.jobs, self.complete)

    def _baseline(self, bench: Any, watched: watching.Watched) -> None:
        """What starting the compiler runs shows in no program's features, and was reached before the first."""
        if all(f.name in watched.seen.reached for f in watched.faults if f.lines):
            return
        preload = [fault.path for fault in watched.faults]
        lines = bench.executor(preload).baseline(TARGET).get("line", {})
        bench.release(preload)
        for fault in watched.faults:
            if fault.reached((file, number) for file, numbers in lines.items() for number in numbers):
                watched.seen.reached[fault.name] = 0.0
        watched.seen.save(watched.directory)

    def rows(self) -> list[Row]:
        made = []
        for number, (watched, replays) in enumerate(zip(self.watched, self.attributions), 1):
            for fault in watched.faults:
                first, reached = replays.first(fault.name), watched.seen.reached.get(fault.name)
                row = Row(fault.name, fault.difficulty, fault.kind, number, reached, watched=bool(fault.lines))
                if first is not None:
                    # Programs that die leave no trace of what they ran.
                    before = first.cpu if reached is None else min(reached, first.cpu)
                    row = Row(
                        *(fault.name, fault.difficulty, fault.kind, number, before), first.cpu, first.finding,
                        first.title, first.failure.oracle, row.watched,
                    )  # fmt: skip
                made.append(row)
        return sorted(made, key=lambda r: (r.difficulty or 9, r.fault))

    def to_json(self) -> dict[str, Any]:
        rows = self.rows()
        groups = []
        for watched, replays in zip(self.watched, self.attributions):
            kept = [
                {"id": f.id, "finding": f.finding, "cpu": f.cpu, "title": f.title,
                 "faults": attribution.causes(replays.replays[f.id]), "replays": replays.replays[f.id]}
                for f in replays.found
            ]  # fmt: skip
            groups.append({
                "faults": [f.name for f in watched.faults], "cpu": round(watched.seen.cpu, 1),
                "programs": watched.seen.programs, "findings": kept, "own": [f.id for f in replays.own()],
                "unexplained": [f.id for f in replays.unexplained()],
                "left": [f.id for f in replays.left()],
            })  # fmt: skip
        return {
            "seed": self.seed, "cpu_minutes": self.cpu_minutes, "jobs": self.jobs, "torch": installed_torch(),
            "stopped": self.stopped(), "shares": shares(rows), "faults": [asdict(row) for row in rows],
            "groups": groups, "skipped": [asdict(s) for s in self.skipped], "unreadable": self.wrong,
        }  # fmt: skip


def shares(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """For each class of difficulty: how many faults there are, how many were reached and found, and whether enough."""
    found = {}
    for name, (difficulties, wanted) in CLASSES.items():
        mine = [row for row in rows if row.difficulty in difficulties]
        hits = sum(row.found is not None for row in mine)
        reached = sum(row.reached is not None for row in mine)
        enough = hits >= wanted * len(mine)
        found[name] = {"faults": len(mine), "reached": reached, "found": hits, "wanted": wanted, "enough": enough}
    return found


def text(bench: FaultBench) -> str:
    """The table, then the shares."""
    rows = bench.rows()
    width = max((len(row.fault) for row in rows), default=5)
    lines = [f"{'fault':<{width}}  diff  group  reached    found  by"]
    for row in rows:
        reached = _seconds(row.reached) if row.watched or row.found is not None else "?"
        by = f"{row.oracle}: {row.title[:90]} ({row.finding})" if row.finding else ""
        times = f"{reached:>7}  {_seconds(row.found):>7}"
        lines.append(f"{row.fault:<{width}}  {row.difficulty or '-':>4}  {row.group:>5}  {times}  {by}".rstrip())
    lines.append("(CPU seconds of the group's campaign)")
    for name, share in shares(rows).items():
        if share["faults"]:
            part = f"{share['found']} of {share['faults']} found ({share['found'] / share['faults']:.0%})"
            lines.append(f"difficulty {name}: {part}, wanted {share['wanted']:.0%}; {share['reached']} reached")
    for number, (watched, replays) in enumerate(zip(bench.watched, bench.attributions), 1):
        own, open_, left = len(replays.own()), len(replays.unexplained()), len(replays.left())
        lines.append(
            f"group {number}: {watched.seen.programs} programs in {watched.seen.cpu:.0f} CPU s, "
            f"{len(watched.seen.findings)} findings, {own} of them torch's own, {open_} that no fault alone explains"
            + (f", {left} still to be replayed" if left else "")
        )
    lines += [f"left out: {s.name}: {s.reason}" for s in bench.skipped]
    return "\n".join([*lines, *(f"not readable: {line}" for line in bench.wrong)])


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# The plan

def planned(args: argparse.Namespace, directory: Path) -> tuple[list[list[Fault]], list[Skipped]]:
    """The groups, and what is left out: as an earlier run in this directory began with, or made anew. Raises UsageError
    where that one was asked for something else."""
    faults, skipped = planned_faults(args)
    asked = {
        "seed": args.seed, "cpu_minutes": args.cpu_minutes, "groups": args.groups, "torch": installed_torch(),
        "faults": {f.name: hashlib.sha256(Path(f.path).read_bytes()).hexdigest() for f in faults},
    }  # fmt: skip
    file = directory / PLAN
    if file.is_file():
        plan = _run.read_json(file)
        changed = [name for name, value in asked.items() if plan["asked"][name] != value]
        if changed:
            raise UsageError(
                f"begun with another {', '.join(changed)}", where=str(directory), hint="give another -o"
            )  # fmt: skip
        groups = [[planted.fault_of(data) for data in group] for group in plan["dealt"]]
        return groups, [Skipped(**s) for s in plan["skipped"]]
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise UsageError("something else is there", where=str(directory), hint="give another -o")
    say(f"examining {len(faults)} faults")
    known, unfit = planted.examined(faults)
    if not known:
        raise UsageError(f"no fault can be planted: {unfit[0].name}: {unfit[0].reason}", where=str(args.faults))
    count = args.groups or -(-len(known) // planted.GROUP)
    groups = planted.dealt(known, count, Streams(args.seed).stream("groups"))
    planted.check_together(groups)
    skipped = sorted([*skipped, *unfit], key=lambda s: s.name)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot be made: {error.strerror}", where=str(directory)) from error
    plan = {
        "asked": asked, "dealt": [[f.to_json() for f in group] for group in groups],
        "skipped": [asdict(s) for s in skipped],
    }  # fmt: skip
    write_whole(file, json.dumps(plan, indent=1) + "\n")
    return groups, skipped


def planned_faults(args: argparse.Namespace) -> tuple[list[Fault], list[Skipped]]:
    if args.cpu_minutes <= 0 or args.jobs < 1 or args.groups < 0 or args.timeout <= 0:
        raise UsageError("--cpu-minutes, --jobs, --groups and --timeout must be above 0")
    return planted.read(args.faults, args.only)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="bench_faults", description=textwrap.fill(DESCRIPTION, 110), epilog=planted.FORMAT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = made.add_argument
    add("faults", type=Path, metavar="DIR", help="folder of faults (see below)")
    add("--cpu-minutes", type=float, required=True, metavar="M", help="for all campaigns together")
    add("--jobs", type=int, default=cores(), metavar="N", help="programs executed side by side (default: the cores)")
    add("--groups", type=int, default=0, metavar="N", help=f"groups (default: as many as have {planted.GROUP} faults)")
    add("--only", action="append", default=[], metavar="NAME", help="this fault, and others so named")
    add("--seed", type=int, default=0, help="of the groups and of the campaigns (0)")
    add("-o", "--output", type=Path, metavar="DIR", help="keep campaigns, replays and result.json; the same command "
        "goes on from there")  # fmt: skip
    add("--complete", action="store_true", help="replay every finding with every fault, also where its cause is known")
    add("--timeout", type=float, default=REPLAY_TIMEOUT, metavar="S", help="limit for one replay (60)")
    add("--json", action="store_true", help="print one JSON object")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    planned_faults(args)
    from fuzzgraph.campaign.session import signals

    why: list[str] = []
    with tempfile.TemporaryDirectory(prefix="fuzzgraph-bench-") as folder, signals(why.append):
        directory = args.output or Path(folder) / "bench"
        groups, skipped = planned(args, directory)
        bench = FaultBench(
            directory, args.seed, args.cpu_minutes, args.jobs, groups, skipped, lambda: why[0] if why else "",
            args.complete, args.timeout,
        )  # fmt: skip
        bench.run()
        result = bench.to_json()
        write_whole(directory / RESULT, json.dumps(result, indent=1) + "\n")
        print(json.dumps(result) if args.json else text(bench), flush=True)
        if why:
            say(f"{why[0]}" + (f"; the same command goes on from {directory}" if args.output else ""))
    return 0 if not why and all(share["enough"] for share in result["shares"].values()) else 1


if __name__ == "__main__":
    sys.exit(_run.report(main))
