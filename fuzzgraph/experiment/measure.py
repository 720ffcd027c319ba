"""scripts/measure_coverage: compiler lines that a campaign or a folder of Python programs reaches."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fuzzgraph.corpus.store import is_campaign

from . import _run, lines

DESCRIPTION = (
    "Count the function-body lines of _inductor, _dynamo, _functorch and _decomp that programs reach beyond x+1 with "
    "backward. Only programs whose reference runs count. PATH is a campaign's directory, a folder of Python programs, "
    "or one of them."
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="measure_coverage", description=DESCRIPTION)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    parser.add_argument("--all", action="store_true", help="all compared programs of a campaign, not only its entries")
    parser.add_argument("--cpu", type=float, default=0.0, metavar="S", help="stop counting after S CPU seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON object a path")
    run = parser.add_argument_group("a fresh campaign")
    run.add_argument("--campaign-seconds", type=float, metavar="S", help="first run one of S CPU seconds on one core")
    run.add_argument("--seed", type=int, default=0, help="its seed")
    run.add_argument("-o", "--output", type=Path, help="its directory (default: a temporary one)")
    args = parser.parse_args(argv)
    if not args.paths and args.campaign_seconds is None:
        parser.error("give a PATH or --campaign-seconds")
    with tempfile.TemporaryDirectory(prefix="fuzzgraph-measure-") as folder:
        paths = list(args.paths)
        if args.campaign_seconds is not None:
            paths.append(args.output or Path(folder) / "campaign")
            options = ["-o", str(paths[-1]), "--cpu-seconds", str(args.campaign_seconds), "--jobs", "1"]
            _run.campaign([*options, "--seed", str(args.seed), "--no-llm"], one_core=True)
        for number, path in enumerate(paths):
            programs = Path(folder) / f"programs{number}"
            programs.mkdir()
            print_count(path, programs, args)
    return 0


def print_count(path: Path, folder: Path, args: argparse.Namespace) -> None:
    campaign = is_campaign(path)
    found = lines.campaign_programs(path, folder, args.all) if campaign else lines.python_programs(path)
    result = lines.count(found, cpu_limit=args.cpu, progress=tell)
    online = standing(path) if campaign else {}
    if args.json:
        row = {
            "path": str(path), "programs": result.programs, "counted": result.counted, "cpu": round(result.cpu, 1),
            "lines": result.by_folder(), "total": result.beyond, "campaign": online, "wrong": result.wrong,
        }  # fmt: skip
        print(json.dumps(row), flush=True)
        return
    print(f"{path}: {result.programs} programs, {result.counted} of them count; {result.cpu:.0f} CPU s to count")
    print("  " + "  ".join(f"{folder} {n:,}" for folder, n in result.by_folder().items()) + f"  sum {result.beyond:,}")
    if online:
        print("  the campaign's own count: " + "  ".join(f"{name} {value:,}" for name, value in online.items()))
    for wrong in result.wrong[:10]:
        print(f"  {wrong}")
    sys.stdout.flush()


def standing(path: Path) -> dict[str, int]:
    """What the campaign counted while it ran, beyond what its harness reaches by starting up."""
    from fuzzgraph.campaign import summary

    now = summary.read(path)
    return {
        **{folder: now.lines.get(folder, 0) for folder in lines.FOLDERS},
        "sum": summary.counted(now.lines),
        "programs": now.programs,
        "CPU s": round(now.cpu),
    }


def tell(count: lines.Count) -> None:
    print(f"{count.programs} programs, {count.beyond:,} lines", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(_run.report(main))
