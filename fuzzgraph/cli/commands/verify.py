"""`fuzzgraph verify DIR --python PATH`: which findings does another torch still have?"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuzzgraph.triage.verify import Verdict

HELP = "run every repro.py under a Python and say which bugs its torch has"
EPILOG = (
    "verdicts: still there (repro.py exits 1), new (it does, and did not when it was triaged), fixed (0), undecided "
    "(125 or else). exit status 1 when a bug is there, 0 when none is"
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", nargs="?", type=Path, metavar="DIR", help="a campaign, its findings, or a finding")
    parser.add_argument("--python", default=sys.executable, metavar="PATH",
                        help="interpreter whose torch is asked; it needs no fuzzgraph (default: this one)")  # fmt: skip
    parser.add_argument("--issues", action="store_true", help="ask for the known issues that carry a program, too")
    parser.add_argument("--known", type=Path, action="append", default=[], metavar="FILE",
                        help="a known-issues.toml beside the one shipped, with --issues")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="scripts run side by side (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.cli._options import check_numbers
    from fuzzgraph.errors import UsageError
    from fuzzgraph.triage import known, verify

    check_numbers(args, jobs="count")
    if args.directory is None and not args.issues:
        raise UsageError("nothing to verify", where="DIR", hint="name a directory, or give --issues")
    issues = known.load(args.known).issues if args.issues else ()
    paths = verify.scripts(args.directory) if args.directory is not None else []
    # Scripts run in other folders; and the link of a virtual environment must not be followed.
    python = os.path.abspath(shutil.which(args.python) or args.python)
    torch = verify.torch_of(python)

    def done(verdict: Verdict) -> None:
        if not args.json:
            print(line(verdict), flush=True)

    if not args.json:
        print(f"torch {torch} of {args.python}:", flush=True)
    findings = verify.verify(paths, python, args.jobs, done)
    entries = []
    if issues:
        from fuzzgraph.grammar import load_rules

        entries = verify.verify_issues(issues, load_rules(), python, args.jobs, done)
    if args.json:
        print(json.dumps(as_json(torch, args.python, findings, entries), indent=2))
    else:
        print(summary([*findings, *entries]))
    return 1 if any(v.verdict in (verify.STILL, verify.NEW) for v in (*findings, *entries)) else 0


def line(verdict: Verdict) -> str:
    detail = f"  [{verdict.detail}]" if verdict.detail else ""
    return f"  {verdict.verdict:<12}{verdict.id}  {verdict.title[:100]}{detail}"


def summary(verdicts: list[Verdict]) -> str:
    counts: dict[str, int] = {}
    for verdict in verdicts:
        counts[verdict.verdict] = counts.get(verdict.verdict, 0) + 1
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items())) or "nothing to run"


def as_json(torch: str, python: str, findings: list[Verdict], entries: list[Verdict]) -> dict[str, Any]:
    return {
        "torch": torch, "python": python, "findings": [vars(v) for v in findings], "issues": [vars(v) for v in entries]
    }  # fmt: skip
