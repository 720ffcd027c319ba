"""`fuzzgraph triage DIR`: from a campaign's findings to reports that can be filed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzgraph.cli._options import add_plugin

if TYPE_CHECKING:
    from fuzzgraph.errors import FuzzgraphError
    from fuzzgraph.triage.pipeline import Result

HELP = "confirm, minimize, localize, rank and report a campaign's findings"
EPILOG = (
    "Each step is recorded in the finding's finding.json: an interrupted triage goes on where it was. "
    "exit status 1 when a finding could not be triaged"
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="a campaign's directory, or a folder of findings")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="findings triaged side by side (default: 1)")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="limit for one program (default: 60)")
    parser.add_argument("--budget", type=float, default=900.0, metavar="S",
                        help="seconds for minimizing one finding, 0 for no limit (default: 900)")  # fmt: skip
    parser.add_argument("--no-minimize", action="store_true", help="report the programs as they were found")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="findings whose id has this in it")
    parser.add_argument("--again", action="store_true", help="go through all steps anew")
    parser.add_argument("--known", type=Path, action="append", default=[], metavar="FILE",
                        help="a known-issues.toml beside the one shipped")  # fmt: skip
    parser.add_argument("--keep", action="store_true",
                        help="add the findings of --only (default: the distinct, stable, unknown ones) to the programs "
                        "of fuzzgraph regress")  # fmt: skip
    parser.add_argument("--regressions", type=Path, metavar="DIR", help="where --keep adds (default: those shipped)")
    add_plugin(parser)
    parser.add_argument("--json", action="store_true", help="print the ranked index as JSON")


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.campaign import environment
    from fuzzgraph.cli._options import check_numbers
    from fuzzgraph.errors import UsageError
    from fuzzgraph.triage import known, pipeline
    from fuzzgraph.triage.steps import Plan

    check_numbers(args, jobs="count", timeout="seconds", budget="budget")
    if args.regressions is not None and args.regressions.exists() and not args.regressions.is_dir():
        raise UsageError("this is no directory", where=f"--regressions {args.regressions}")
    environment.check_torch()
    environment.check_compiler()
    plan = Plan(args.budget, not args.no_minimize, known.load(args.known))

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    result = pipeline.triage(
        args.directory, plan, jobs=args.jobs, timeout=args.timeout, only=args.only, again=args.again, say=say
    )
    if args.json:
        print(json.dumps(pipeline.index_rows(result.findings), indent=2))
    else:
        print(text(args.directory, result))
    if args.keep:
        result.errors += keep(result, args.only, args.regressions, say)
    for error in result.errors:
        print(f"fuzzgraph: {error}", file=sys.stderr)
    return 1 if result.errors else 0


def keep(result: Result, only: Sequence[str], folder: Path | None, say: Callable[[str], None]) -> list[FuzzgraphError]:
    """Add findings to the regression programs; return what is wrong with those that cannot be added."""
    from fuzzgraph.errors import FuzzgraphError
    from fuzzgraph.resources import data_dir
    from fuzzgraph.triage import keeping

    named = [f for f in result.findings if any(name in f.id for name in only)]
    errors: list[FuzzgraphError] = []
    for finding in named if only else keeping.worth_keeping(result.findings):
        try:
            path = keeping.keep(finding, folder or data_dir("corpus") / "regressions")
        except FuzzgraphError as error:
            errors.append(error)
        else:
            say(f"{finding.id}: kept as {path}" if path else f"{finding.id}: kept already")
    return errors


def text(directory: Path, result: Result) -> str:
    from fuzzgraph.triage import pipeline

    folder = pipeline.findings_folder(directory)
    return f"{pipeline.index_text(result.findings)}\nSee {folder / pipeline.INDEX} and the report.md of each."
