"""scripts/measure_faults: what triage makes of planted faults, whose place in the compiler is known."""

from __future__ import annotations

import argparse
import ast
import json
import resource
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

from fuzzgraph import oracles
from fuzzgraph.check.source import constants, text_of
from fuzzgraph.check.verdict import leading
from fuzzgraph.corpus.tree import write_whole
from fuzzgraph.errors import FuzzgraphError, UsageError
from fuzzgraph.execution.protocol import Failure, Outcome
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.text import format, parse
from fuzzgraph.mutators import load
from fuzzgraph.mutators.tools import Tools
from fuzzgraph.rng import Streams
from fuzzgraph.triage import record
from fuzzgraph.triage.bisection import Bisection
from fuzzgraph.triage.folder import Discovery, files
from fuzzgraph.triage.matching import Shows
from fuzzgraph.triage.node import FirstNode
from fuzzgraph.triage.signature import core, signature
from fuzzgraph.triage.steps import Plan, Triage
from fuzzgraph.triage.workshop import Workshop

from . import _run

DESCRIPTION = (
    "For each fault (a Python file for --preload) that has a trigger (NAME.fg, which fails with it and only with it): "
    "hide the trigger in a larger program, take that through triage, and compare the result with the trigger and with "
    "the part of the compiler that the fault is planted in. Exit status 1 when one is not as it should be."
)
TARGET = "inductor"
SIZE = 20
# Operators that a minimized program may have more than its trigger.
ALLOWED = 3
# What makes a program larger.
GROWING = ("insert_node", "insert_chain", "splice", "insert_view")
# Mutations between two looks at whether the fault still shows, at first; looks, after which no more are made.
STRIDE, LOOKS = 6, 24
# The rung at which a fault in one of torch's files should show; the first that fits. A guard that is missing shows on
# any rung: where use was made of what it guards.
RUNGS = (
    ("_dynamo/guards.py", ""), ("_dynamo/", "dynamo"), ("_functorch/", "aot"), ("_decomp/", "decomp"),
    ("_inductor/decomposition.py", "decomp"), ("_inductor/", "inductor"),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What came of one fault. `trigger`, `padded`, `minimized` are numbers of operators; `expected` is the rung of the
    part that the fault is in, "" if nobody says. `problem`: why there is no more to say."""

    fault: str
    trigger: int = 0
    padded: int = 0
    minimized: int = 0
    executions: int = 0
    rung: str = ""
    expected: str = ""
    bisected: str = ""
    node: str = ""
    cpu: float = 0.0
    problem: str = ""

    @property
    def good(self) -> bool:
        right = bool(self.rung) and self.expected in ("", self.rung)
        return right and not self.problem and self.minimized <= self.trigger + ALLOWED


class Measuring:
    """Takes one fault after the other. The finding of each stays in a folder of its name below `directory`."""

    def __init__(self, directory: Path, workshop: Workshop, streams: Streams, size: int) -> None:
        self.directory, self.workshop, self.streams, self.size = directory, workshop, streams, size
        tools = workshop.tools
        self.tools = Tools(tools.book, tools.infer, tools.generator, tools.generator.program)
        known = {mutator.name: mutator for mutator in load()}
        self.mutators = [known[name] for name in GROWING]

    def row(self, fault: Path, trigger: Path) -> Row:
        """All that is measured of one fault. CPU is that of processes with the fault and of this one."""
        start = _cpu()
        try:
            made = self._measured(fault, trigger)
        except FuzzgraphError as error:
            made = Row(fault.stem, problem=str(error))
        finally:
            self.workshop.release([str(fault)])
        return replace(made, cpu=round(_cpu() - start, 1))

    def _measured(self, fault: Path, trigger: Path) -> Row:
        book, infer = self.workshop.book, self.workshop.infer
        program = parse(trigger.read_text(encoding="utf-8"), infer, book.check, file=str(trigger))
        row = Row(fault.stem, program.size, expected=expected_rung(component(fault)))
        shown, plain = self.run(program, fault), self.run(program, None)
        wanted = leading(list(shown.failures))
        if plain.status != "ok" or wanted is None:
            problem = f"no trigger: {shown.status} with the fault, {plain.status} without"
            return replace(row, problem=problem)
        padded, outcome = self.padded(program, shown, wanted, fault)
        row = replace(row, padded=padded.size)
        failure = next(f for f in outcome.failures if alike(f, wanted))
        triage = Triage(self._finding(fault, padded, outcome, failure), self.workshop, Plan(), lambda step: None)
        triage.deflake()
        if not triage.confirmed:
            return replace(row, problem="not confirmed")
        for step in (triage.minimize, triage.ladder, triage.bisect, triage.first_node):
            step()
        triage.finding.save()
        found = triage.finding.triage
        left = Shows(failure)(self.run(triage.finding.program(), None))
        return replace(
            row, minimized=found["minimize"]["after"], executions=found["minimize"]["executions"],
            rung=found["ladder"]["rung"], bisected=Bisection(**found["bisect"]).text,
            node=FirstNode(**found["node"]).text,
            problem="what is left fails without the fault, too" if left else "",
        )  # fmt: skip

    def padded(self, program: Program, shown: Outcome, wanted: Failure, fault: Path) -> tuple[Program, Outcome]:
        """A program of up to `size` operators around this one, which fails as `shown`, and how it fails with the fault:
        in the way of `wanted`, and not without the fault."""
        rng = self.streams.stream("pad", fault.stem)
        best, outcome, stride = program, shown, STRIDE
        for _ in range(LOOKS):
            if best.size >= self.size:
                break
            made = self.grown(best, stride, rng)
            seen = self.run(made, fault)
            if any(alike(f, wanted) for f in seen.failures) and self.run(made, None).status == "ok":
                best, outcome = made, seen
            else:
                stride = max(1, stride // 2)
        return best, outcome

    def grown(self, program: Program, count: int, rng: Random) -> Program:
        """The program after `count` mutations that make it larger, or as many as there is room for."""
        for _ in range(10 * count):
            made = rng.choice(self.mutators).mutate(program, rng, self.tools)
            if made is not None and program.size < made.size <= self.size:
                program, count = made, count - 1
            if not count or program.size == self.size:
                break
        return program

    def run(self, program: Program, fault: Path | None) -> Outcome:
        preload = [] if fault is None else [str(fault)]
        return self.workshop.run_programs([program], TARGET, preload, oracles.cheap())[0]

    def _finding(self, fault: Path, program: Program, outcome: Outcome, failure: Failure) -> record.Finding:
        """What a campaign would leave of it."""
        discovery = Discovery(content_hash(program), 0, 0, None, (), TARGET, (str(fault),))
        folder = self.directory / fault.stem
        folder.mkdir(parents=True, exist_ok=True)
        first = replace(outcome, failures=(failure, *(f for f in outcome.failures if core(f) != core(failure))))
        for name, content in files(signature(failure, program), first, format(program), "", discovery).items():
            write_whole(folder / name, content)
        return record.load(folder)


def alike(failure: Failure, wanted: Failure) -> bool:
    return (failure.oracle, failure.kind) == (wanted.oracle, wanted.kind)


def component(fault: Path) -> str:
    """The file of torch that a fault says it is planted in: its constant COMPONENT, "" where it has none. Raises
    UsageError where it is no Python file."""
    try:
        return str(constants(ast.parse(text_of(fault))).get("COMPONENT", ""))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"no Python file: {error}", where=str(fault)) from error


def expected_rung(component: str) -> str:
    return next((rung for start, rung in RUNGS if component.startswith(start)), "")


def text(row: Row) -> str:
    word = "ok " if row.good else "BAD"
    if row.problem:
        return f"{word} {row.fault}: {row.problem}"
    sizes = f"{row.trigger} in {row.padded} -> {row.minimized} operators, {row.executions} runs, {row.cpu:.0f} CPU s"
    rung = row.rung if row.rung == row.expected or not row.expected else f"{row.rung}, expected {row.expected}"
    lines = (sizes, f"rung    {rung or 'none'}", f"bisect  {row.bisected}", f"node    {row.node}")
    return f"{word} {row.fault}: " + "\n      ".join(lines)


def _cpu() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="measure_faults", description=DESCRIPTION)
    parser.add_argument("faults", type=Path, metavar="FAULTS", help="folder of Python files, each plants one fault")
    parser.add_argument("triggers", type=Path, metavar="TRIGGERS", help="folder of .fg programs of the same names")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="keep the findings there")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this fault, and others so named")
    parser.add_argument("--seed", type=int, default=0, help="of what the triggers are hidden in (0)")
    parser.add_argument("--size", type=int, default=SIZE, metavar="N", help=f"operators to grow to ({SIZE})")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="limit for one program (60)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a fault")
    args = parser.parse_args(argv)
    names = args.only or sorted(path.stem for path in args.faults.glob("*.py"))
    pairs = [(args.faults.resolve() / f"{name}.py", args.triggers / f"{name}.fg") for name in names]
    pairs = [(fault, trigger) for fault, trigger in pairs if fault.is_file() and trigger.is_file()]
    if not pairs:
        raise UsageError("no fault that has a trigger", where=str(args.faults), hint="NAME.py and NAME.fg")
    good = True
    with tempfile.TemporaryDirectory(prefix="fuzzgraph-faults-") as folder, Workshop(args.timeout) as workshop:
        measuring = Measuring(args.output or Path(folder), workshop, Streams(args.seed), args.size)
        for fault, trigger in pairs:
            row = measuring.row(fault, trigger)
            good = good and row.good
            print(json.dumps(asdict(row)) if args.json else text(row), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(_run.report(main))
