"""scripts/bench_loop: how many programs a CPU second, and what each second is spent on."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fuzzgraph.corpus.store import Store

from . import _run

DESCRIPTION = "Run a short campaign; print programs per CPU second, and the share of CPU by what it is spent on."
# The engine's share that issue 2 allows.
ALLOWED = 0.10
# Not part of the loop: importing torch and reading rules and seeds happen once.
START = "start"


@dataclass(frozen=True)
class Split:
    """CPU seconds. `python`: programs and the compiler's Python; `compiler`: g++; `forks`: zygotes themselves;
    `inference`: the FakeTensor process; `engine`: this process without its start; `start`: that, once.
    """

    total: float
    python: float
    compiler: float
    forks: float
    inference: float
    engine: float
    start: float
    sections: dict[str, float]
    programs: int
    executions: dict[str, int]

    @property
    def share(self) -> float:
        """The engine's part of the loop's CPU."""
        return self.engine / max(self.total - self.start, 1e-9)

    def parts(self) -> dict[str, float]:
        names = ("python", "compiler", "forks", "inference", "engine", "start")
        return {name: getattr(self, name) for name in names}


def read(directory: Path) -> Split:
    """From the store of a campaign."""
    store = Store(directory, readonly=True)
    try:
        counters, clock = store.counters(), dict(store.state("clock"))
        processes, progress = store.state("processes"), store.state("progress")
    finally:
        store.close()
    start = clock.pop(START, 0.0)
    executed, compiler = counters["cpu/executed"], counters.get("cpu/compiler", 0.0)
    harness = processes.get("harness", 0.0)
    purposes = ("cover", "compare", "confirm")
    prefix = "status/"
    executions = {p: 0 for p in purposes}
    for name, value in counters.items():
        if name.startswith(prefix):
            executions[name.split("/")[1]] += int(value)
    return Split(
        progress["cpu"], executed - compiler, compiler, max(harness - executed, 0.0), processes.get("inference", 0.0),
        sum(clock.values()), start, clock, int(counters["programs"]), executions,
    )  # fmt: skip


def text(split: Split) -> str:
    loop = split.total - split.start
    rows = [f"programs            {split.programs}  ({', '.join(f'{n} {p}' for p, n in split.executions.items())})"]
    rows.append(f"CPU seconds         {split.total:.1f}, {split.start:.1f} of them the engine's start")
    rate, loop_rate = split.programs / split.total, split.programs / loop
    rows.append(f"programs a CPU s    {rate:.2f}  ({loop_rate:.2f} without the start)")
    for name, seconds in split.parts().items():
        rows.append(f"  {name:<18}{seconds:8.1f} s {seconds / split.total:7.1%}")
    rows.append(f"engine's own share  {split.share:.1%} (at most {ALLOWED:.0%})")
    for name, seconds in sorted(split.sections.items(), key=lambda item: -item[1]):
        rows.append(f"  {name:<18}{seconds:8.2f} s {seconds / loop:7.2%}")
    return "\n".join(rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench_loop", description=DESCRIPTION)
    parser.add_argument("--cpu-seconds", type=float, default=120.0, metavar="S", help="length of the campaign (120)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="default: the cores")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--directory", type=Path, metavar="DIR", help="read this campaign instead of running one")
    args, more = parser.parse_known_args(argv)
    with tempfile.TemporaryDirectory(prefix="fuzzgraph-bench-") as folder:
        directory = args.directory or Path(folder) / "campaign"
        if args.directory is None:
            options = ["-o", str(directory), "--cpu-seconds", str(args.cpu_seconds), "--seed", str(args.seed), *more]
            _run.campaign([*options, *(["--jobs", str(args.jobs)] if args.jobs else []), "--no-llm"])
        split = read(directory)
    print(json.dumps(as_json(split)) if args.json else text(split))
    return 0 if split.share <= ALLOWED else 1


def as_json(split: Split) -> dict[str, Any]:
    return {**asdict(split), "share": split.share, "programs_per_cpu_second": split.programs / split.total}


if __name__ == "__main__":
    sys.exit(_run.report(main))
