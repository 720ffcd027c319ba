"""`fuzzgraph run FILE...`: replay programs in a fresh process and print each oracle's verdict."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzgraph.cli._options import add_plugin

if TYPE_CHECKING:
    from fuzzgraph.errors import FuzzgraphError
    from fuzzgraph.execution.protocol import Failure, Job, Outcome

HELP = "replay programs in a fresh process and print each oracle's verdict"
EPILOG = "exit status 1 when an oracle fails, 2 when the reference does not run, or a file is no program"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("programs", nargs="+", metavar="FILE",
                        help=".fg file, folder, finding's directory, or CAMPAIGN:ENTRY")  # fmt: skip
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="campaign whose entries FILE may name")
    parser.add_argument("--target", metavar="NAME", help="compiler configuration (default: the finding's, or inductor)")
    parser.add_argument("--preload", action="append", metavar="FILE", help="Python file that the process runs first")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="limit for one program (default: 60)")
    parser.add_argument("--oracles", metavar="NAMES", help="those to ask, as value,metadata,crash (default: all)")
    add_plugin(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object a program")


def run(args: argparse.Namespace) -> int:
    from contextlib import ExitStack

    from fuzzgraph import oracles
    from fuzzgraph.campaign import config, environment, replay
    from fuzzgraph.cli import complain
    from fuzzgraph.cli._options import check_numbers, check_preload
    from fuzzgraph.cli._programs import load

    check_numbers(args, timeout="seconds")
    check_preload(args.preload)
    asked = oracles.names() if args.oracles is None else config.split_oracles(args.oracles)
    environment.check_torch()
    environment.check_compiler()
    failed = unjudged = False
    refused: list[FuzzgraphError] = []

    def refuse(error: FuzzgraphError) -> None:
        # The other files are judged all the same.
        refused.append(error)
        complain(error)

    with ExitStack() as stack:
        bench = stack.enter_context(replay.Bench(args.target, args.preload, args.timeout, oracles=asked))
        named = [each for name in args.programs for each in load(name, args.corpus, bench.infer, refused=refuse)]
        for each in named:
            job, outcome = bench.run(each.name, each.program, each.settings)
            failed = failed or bool(outcome.failures)
            # A program that is meant to raise (`missed`) was judged.
            unjudged = unjudged or not (outcome.valid or outcome.missed)
            text = json.dumps(as_json(each.name, job, outcome)) if args.json else as_text(each.name, job, outcome)
            print(text, flush=True)
    return 2 if refused else 1 if failed else 2 if unjudged else 0


def as_text(name: str, job: Job, outcome: Outcome) -> str:
    lines = [f"{name}: {outcome.status}" + (f" at {outcome.stage}" if outcome.stage != "done" else "")]
    if not outcome.valid and not outcome.failures:
        # No oracle has anything to say.
        why = f"{outcome.error.type}: {outcome.error.message}" if outcome.error else "the reference does not run"
        return "\n".join([*lines, f"  {why}", *(f"  note: {note}" for note in outcome.notes)])
    width = max([11, *map(len, (*job.plans, *(f.oracle for f in outcome.failures)))]) + 1
    for oracle in job.plans:
        found = [f for f in outcome.failures if f.oracle == oracle]
        verdict = "; ".join(said(f) for f in found)
        lines.append(f"  {oracle:<{width}}{'FAIL  ' + verdict if found else verdict_without(outcome, oracle)}")
    for failure in outcome.failures:
        if failure.oracle not in job.plans:
            lines.append(f"  {failure.oracle:<{width}}FAIL  {said(failure)}")
    lines += [f"  note: {note}" for note in outcome.notes]
    if outcome.error is not None and not outcome.failures:
        lines.append(f"  {outcome.error.type}: {outcome.error.message}")
    return "\n".join(lines)


def said(failure: Failure) -> str:
    what = f"{failure.exc_type}: {failure.message}" if failure.exc_type else failure.message
    where = f" in the variant {failure.variant!r}" if failure.variant else ""
    return f"{failure.kind} ({failure.stage}){where}: {what}"


def verdict_without(outcome: Outcome, oracle: str) -> str:
    from fuzzgraph import oracles

    if not outcome.valid:
        return "-     the reference does not run"
    if outcome.status == "unstable":
        return "-     the reference is not a judge"
    crashed = any(failure.oracle == "crash" for failure in outcome.failures)
    if outcome.failures and not crashed and oracle in oracles.expensive():
        return "-     not asked, another one failed"
    return "-     it did not get that far" if crashed or outcome.status not in ("ok", "failure") else "ok"


def verdict(outcome: Outcome, oracle: str) -> str:
    """fail, ok, or - for what was not judged."""
    failed = any(f.oracle == oracle for f in outcome.failures)
    return "fail" if failed else verdict_without(outcome, oracle).split()[0]


def as_json(name: str, job: Job, outcome: Outcome) -> dict[str, Any]:
    return {
        "program": name,
        "target": job.target,
        "status": outcome.status,
        "stage": outcome.stage,
        "oracles": {oracle: verdict(outcome, oracle) for oracle in job.plans},
        "notes": list(outcome.notes),
        "failures": [failure.__dict__ for failure in outcome.failures],
        "error": None if outcome.error is None else {"type": outcome.error.type, "message": outcome.error.message},
        "output": outcome.output,
        "cpu": round(outcome.cpu, 3),
        "versions": outcome.versions,
    }
