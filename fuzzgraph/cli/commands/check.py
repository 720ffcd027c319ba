"""`fuzzgraph check FILE.py...`: all oracles over Python files and scripts."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzgraph.cli._options import add_plugin

if TYPE_CHECKING:
    from fuzzgraph.check.source import Checked
    from fuzzgraph.check.verdict import Verdict

HELP = "hold compiled code against eager in Python files: all oracles, and where in the compiler it breaks"
EPILOG = """FILE defines make_inputs() and f(*args), or make_inputs() and make_fn(), or scenario(wrap); or it is a
script that calls torch.compile. Exit status 1 when compiled code diverges or does not end, 2 when a file cannot be
judged."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE.py", help="Python file or script")
    parser.add_argument("--target", default="inductor", metavar="NAME", help="what compiles (default: inductor)")
    parser.add_argument("--preload", action="append", default=[], metavar="FILE", help="Python file to run first")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write a folder for each file that diverges")
    add_plugin(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object with all results")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="files at a time (default: 1)")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="limit for one file (default: 120)")


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.campaign import environment
    from fuzzgraph.check import report
    from fuzzgraph.check.checker import Checker
    from fuzzgraph.check.verdict import Verdict
    from fuzzgraph.cli._options import check_numbers, check_preload
    from fuzzgraph.errors import UsageError
    from fuzzgraph.llm.config import SECRET_VARIABLES

    check_numbers(args, jobs="count", timeout="seconds")
    if args.report is not None and args.report.exists() and not args.report.is_dir():
        raise UsageError("this is no directory", where=f"--report {args.report}")
    check_preload(args.preload)
    named = loaded(args.files)
    environment.check_torch()
    environment.check_compiler()
    for name in SECRET_VARIABLES:
        os.environ.pop(name, None)
    verdicts = []
    reporting = args.report is not None
    with Checker(args.target, args.timeout, args.preload, args.jobs, ablation=reporting) as checker:
        results = checker.check([(file, it) for file, it in named if not isinstance(it, Verdict)])
        for _, it in named:
            if isinstance(it, Verdict):
                verdict = it
            else:
                result = next(results)
                verdict = result.verdict
                if reporting and verdict.found:
                    report.write(result, args.report, args.timeout)
            verdicts.append(verdict)
            print(verdict.line, file=sys.stderr if args.json else sys.stdout, flush=True)
    if args.json:
        print(json.dumps({"results": [verdict.to_data() for verdict in verdicts]}, indent=2))
    if any(verdict.found for verdict in verdicts):
        return 1
    return 2 if any(verdict.unjudged for verdict in verdicts) else 0


def loaded(files: Sequence[str]) -> list[tuple[str, Checked | Verdict]]:
    """Files with what there is to check in them, or with the verdict where there is nothing: one among many must not
    keep the others from being checked. Raises UsageError for files that cannot be read, and for a single one."""
    from fuzzgraph.check.source import read, text_of
    from fuzzgraph.check.verdict import INVALID, Verdict, sentence
    from fuzzgraph.errors import UsageError

    texts = [(file, text_of(file)) for file in files]
    found: list[tuple[str, Checked | Verdict]] = []
    for file, text in texts:
        try:
            found.append((file, read(text, file)))
        except UsageError as error:
            if len(files) == 1:
                raise
            found.append((file, Verdict(file, INVALID, sentence(error.said))))
    return found
