"""`fuzzgraph regress [DIR]`: run kept programs and hold each against the verdict that is expected of it."""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzgraph.cli._options import add_plugin

if TYPE_CHECKING:
    from fuzzgraph.triage.regression import Regression, Result

HELP = "run kept programs and hold each against its expected verdict"
EPILOG = "exit status 1 when one does not do what is expected of it, which includes one that passes unexpectedly"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="programs (default: those shipped)")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="run part I of N, for N machines side by side")
    parser.add_argument("--target", metavar="NAME", help="only expectations of this compiler configuration")
    parser.add_argument("--preload", action="append", metavar="FILE", help="Python file that the process runs first")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="limit a program (default: 120)")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML")
    add_plugin(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object with all results")


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.campaign import environment, replay
    from fuzzgraph.cli._options import check_numbers, check_preload
    from fuzzgraph.errors import UsageError
    from fuzzgraph.resources import data_dir
    from fuzzgraph.torch_compat import installed_torch
    from fuzzgraph.triage import regression

    check_numbers(args, timeout="seconds")
    check_preload(args.preload)
    part, parts = parse_shard(args.shard)
    if args.junit is not None and (args.junit.is_dir() or not args.junit.parent.is_dir()):
        raise UsageError("no file can be written there", where=f"--junit {args.junit}")
    found = regression.load(args.folder or data_dir("corpus") / "regressions")
    if args.target is not None and not any(args.target in r.targets for r in found):
        raise UsageError(f"no program has an expectation of target {args.target!r}", where="--target")
    environment.check_torch()
    environment.check_compiler()
    results: list[Result] = []
    version = installed_torch()
    with replay.Bench(None, args.preload or (), args.timeout) as bench:
        for each in regression.shard(found, part, parts):
            for target in each.targets if args.target is None else [args.target]:
                results.append(execute(bench, each, target, version))
                if not args.json:
                    print(line(results[-1]), flush=True)
    failed = sum(bool(r.problem) for r in results)
    skipped = sum(bool(r.skipped) for r in results)
    if args.junit is not None:
        try:
            args.junit.write_text(regression.junit(results, version), encoding="utf-8")
        except OSError as error:
            raise UsageError(error.strerror or str(error), where=str(args.junit)) from error
    if args.json:
        print(json.dumps({"torch": version, "results": [as_json(r) for r in results]}))
    else:
        print(f"{len(results) - failed - skipped} as expected, {failed} not, {skipped} skipped (torch {version})")
    return 1 if failed else 0


def execute(bench: Any, regression: Regression, target: str, version: str) -> Result:
    """Run one program for one target. Raises ProgramError for a text that is no program."""
    from fuzzgraph.errors import ProgramError
    from fuzzgraph.ir.text import parse_file
    from fuzzgraph.triage.regression import Result, problem

    expected = regression.expected(version, target)
    if expected is None:
        return Result(regression, target, skipped=f"nothing is expected of torch {version}")
    began = time.monotonic()
    try:
        program = parse_file(str(regression.path))
    except ProgramError:
        # Types that its text leaves out are inferred; this torch may lack an operator.
        program = parse_file(str(regression.path), bench.infer)
    _, outcome = bench.run(regression.name, program, {"target": target, "limit": regression.limit})
    output = "\n".join(f.detail for f in outcome.failures) or (outcome.error.message if outcome.error else "")
    return Result(regression, target, problem(expected, outcome), "", time.monotonic() - began, output)


def parse_shard(text: str) -> tuple[int, int]:
    """(i, n) of "i/n". Raises UsageError."""
    from fuzzgraph.errors import UsageError

    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"{text!r} is no shard", where="--shard", hint="I/N with I from 1 to N, such as 2/4")
    return int(match[1]), int(match[2])


def line(result: Result) -> str:
    state = "skip" if result.skipped else "FAIL" if result.problem else "ok  "
    what = result.skipped or result.problem or result.regression.title
    return f"{state} {result.regression.name} ({result.target}): {what}"


def as_json(result: Result) -> dict[str, Any]:
    state = "skipped" if result.skipped else "failed" if result.problem else "passed"
    return {
        "name": result.regression.name,
        "file": str(result.regression.path),
        "target": result.target,
        "result": state,
        "detail": result.problem or result.skipped,
        "issue": result.regression.issue,
        "seconds": round(result.seconds, 2),
    }
