"""`fuzzgraph tmin FILE`: the simplest program that fails in the same way."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzgraph.cli._options import add_plugin

if TYPE_CHECKING:
    from fuzzgraph.campaign.replay import Bench
    from fuzzgraph.cli._programs import Named
    from fuzzgraph.execution.protocol import Outcome
    from fuzzgraph.ir.program import Program
    from fuzzgraph.minimize.deflake import Confirmation
    from fuzzgraph.minimize.minimizer import Minimized
    from fuzzgraph.minimize.trials import Step

HELP = "reduce a failing program to the simplest one that fails in the same way"
EPILOG = "exit status 1 when FILE fails no oracle, or too seldom to be reduced"
# How often a candidate may run until it fails, where the program itself fails in some runs only.
FLAKY_REPEATS = 3
# Without a terminal: seconds between lines of progress.
QUIET = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="FILE", help=".fg file, finding's directory, CAMPAIGN:ENTRY, or Python")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT",
                        help="where to write it (default: FILE's .min.fg or .min.py)")  # fmt: skip
    parser.add_argument("--target", metavar="NAME", help="compiler configuration (default: the finding's, or inductor)")
    parser.add_argument("--preload", action="append", metavar="FILE", help="Python file that the process runs first")
    parser.add_argument("--keep", metavar="WORD", help="of several failures, keep the first whose key has this in it")
    parser.add_argument("--budget", type=float, default=0.0, metavar="S", help="stop after so many seconds")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="candidates tried side by side (default: 1)")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="limit for one program (default: 60)")
    add_plugin(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.campaign import environment, replay
    from fuzzgraph.cli import _source
    from fuzzgraph.cli._options import check_numbers, check_preload
    from fuzzgraph.cli._programs import load
    from fuzzgraph.errors import UsageError

    check_numbers(args, jobs="count", budget="budget", timeout="seconds")
    check_preload(args.preload)
    if args.output is not None and args.output.is_dir():
        raise UsageError("this is a directory", where=str(args.output), hint="-o names the file to write")
    if args.output is not None and not args.output.parent.is_dir():
        raise UsageError("no such folder", where=str(args.output.parent), hint="-o names the file to write")
    if args.program.endswith(".py"):
        return _source.tmin(args)
    environment.check_torch()
    environment.check_compiler()
    with replay.Bench(args.target, args.preload, args.timeout, jobs=args.jobs) as bench:
        found = load(args.program, None, bench.infer)
        if len(found) != 1:
            raise UsageError(f"{len(found)} programs; tmin takes one", where=args.program)
        return _reduce(args, bench, found[0])


def _reduce(args: argparse.Namespace, bench: Bench, named: Named) -> int:
    """Confirm, minimize, confirm again, write."""
    from fuzzgraph import oracles
    from fuzzgraph.errors import UsageError
    from fuzzgraph.ir.text import format
    from fuzzgraph.minimize._reduction import make_tools
    from fuzzgraph.minimize.deflake import FLAKY, NOT_CONFIRMED, deflake
    from fuzzgraph.minimize.minimizer import minimize
    from fuzzgraph.minimize.trials import Budget

    failures: Any = named.settings.get("failures", ())
    asked = {*oracles.cheap(), *(str(f["oracle"]) for f in failures)} & set(oracles.names())
    before = deflake(named.program, lambda ps: bench.run_all(ps, named.settings, asked), keys)
    key = chosen(before, named, args.keep)
    if key is None or before.verdict(key) == NOT_CONFIRMED:
        print(f"{named.name}: {refusal(before, key, args.keep)}", flush=True)
        return 1
    say = Progress(args.json)
    say.line(f"{named.name}: {named.program.size} operators, {before.verdict(key)} ({before.hits[key]} of "
             f"{before.runs} runs): {key}")  # fmt: skip
    needed = {key.split("|")[0], "crash"}

    def execute(programs: Sequence[Program]) -> list[Outcome]:
        return bench.run_all(programs, named.settings, needed)

    repeats = FLAKY_REPEATS if before.verdict(key) == FLAKY else 1
    done = minimize(
        named.program, execute, make_tools(bench.book, bench.infer), key, keys, budget=Budget(seconds=args.budget),
        width=args.jobs, repeats=repeats, progress=say.step,
    )  # fmt: skip
    output = args.output or default_output(args.program)
    try:
        output.write_text(format(done.program), encoding="utf-8")
    except OSError as error:
        raise UsageError(error.strerror or str(error), where=str(output)) from error
    after = None if done.stopped == "interrupted" else deflake(done.program, execute, keys)
    print(json.dumps(as_json(named, output, done, after)) if args.json else summary(output, done, after), flush=True)
    return 0


def keys(outcome: Outcome, program: Program) -> list[str]:
    from fuzzgraph.triage.signature import cores

    return cores(outcome.failures)


def chosen(found: Confirmation, named: Named, word: str | None) -> str | None:
    """The key to keep: one with that word in it; else the first of the finding; else the first of the most frequent."""
    from fuzzgraph.execution.protocol import Failure
    from fuzzgraph.triage.signature import cores

    seen = [str(key) for key in found.hits]
    if word is not None:
        return next((key for key in seen if word in key), None)
    fields = Failure.__dataclass_fields__
    described: Any = named.settings.get("failures", ())
    mine = cores([Failure(**{k: v for k, v in f.items() if k in fields}) for f in described])
    return next((key for key in mine if key in seen), seen[0] if seen else None)


def refusal(found: Confirmation, key: str | None, word: str | None) -> str:
    if key is not None:
        return f"fails in {found.hits[key]} of {found.runs} runs only, which is not confirmed: {key}"
    if found.hits:
        return f"no failure has {word!r} in its key: {'; '.join(map(str, found.hits))}"
    statuses = ", ".join(dict.fromkeys(o.status for o in found.outcomes))
    return f"{statuses}: it fails no oracle, there is nothing to reduce"


def default_output(name: str) -> Path:
    """FILE.min.fg beside FILE; in a finding's directory, beside its program; for an entry, in the current folder."""
    path = Path(name)
    if path.is_dir():
        return path / "program.min.fg"
    if path.is_file():
        return path.with_name(path.stem + ".min.fg")
    return Path(name.rpartition(":")[2].lstrip("@") + ".min.fg")


class Progress:
    """One line per accepted step on a terminal, one a minute elsewhere; on stderr, so that stdout holds the result."""

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._start, self._last = quiet, time.monotonic(), time.monotonic()

    def line(self, text: str) -> None:
        if not self._quiet:
            print(text, file=sys.stderr, flush=True)

    def step(self, step: Step) -> None:
        now = time.monotonic()
        if sys.stderr.isatty() or now - self._last >= QUIET:
            self._last = now
            how = step.how if len(step.how) <= 80 else step.how[:77] + "..."
            self.line(f"  {now - self._start:5.0f} s  {step.program.size:3} operators  {step.reducer}: {how}")


def summary(output: Path, done: Minimized, after: Confirmation | None) -> str:
    stopped = {"fixpoint": "", "budget": ", stopped by the budget", "interrupted": ", interrupted"}[done.stopped]
    kept = "" if after is None else f"; fails in {after.hits.get(done.key, 0)} of {after.runs} runs"
    return (
        f"{output}: {done.before.size} -> {done.program.size} operators, {done.executions} executions, "
        f"{done.seconds:.0f} s{stopped}\n  kept: {done.key}{kept}"
    )


def as_json(named: Named, output: Path, done: Minimized, after: Confirmation | None) -> dict[str, Any]:
    return {
        "program": named.name,
        "output": str(output),
        "key": done.key,
        "operators": {"before": done.before.size, "after": done.program.size},
        "executions": done.executions,
        "seconds": round(done.seconds, 1),
        "stopped": done.stopped,
        "confirmed": None
        if after is None
        else {"runs": after.runs, "hits": after.hits.get(done.key, 0), "verdict": after.verdict(done.key)},
        "reducers": {
            name: {**vars(counts), "seconds": round(counts.seconds, 2)} for name, counts in done.statistics.items()
        },
    }
