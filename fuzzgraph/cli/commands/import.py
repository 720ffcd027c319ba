"""`fuzzgraph import [FILE...] [-- COMMAND...]`: programs from scripts, exported programs, minifier repros, op_db."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzgraph.cli._options import add_plugin

if TYPE_CHECKING:
    from fuzzgraph.importers.convert import Converter
    from fuzzgraph.importers.sources import Recording
    from fuzzgraph.ir.recorded import Recorded

HELP = "make programs of the graphs that a script compiles, of exported programs, repros and op_db's samples"
EPILOG = (
    "what follows -- is a command, such as python script.py or pytest tests, in which torch.compile records. "
    "exit status 1 when the command failed or no program was imported"
)
# Seconds for one question to FakeTensor. A call that it seems not to answer would become verbatim Python.
PATIENCE = 60.0
# `--` separates a command of the user's.
TAKES_COMMAND = True


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [-h] [-o FOLDER] [--op-db [PATTERN]] [--samples N] [--json] [FILE ...] [-- COMMAND ...]"
    parser.add_argument("files", nargs="*", metavar="FILE", type=Path,
                        help="exported program (.pt2), or repro.py or minifier_launcher.py of torch's minifier")
    parser.add_argument("-o", "--output", type=Path, default=Path("imported"), metavar="FOLDER",
                        help="where to write the programs, one file each (default: imported)")
    parser.add_argument("--op-db", nargs="?", const="*", metavar="PATTERN",
                        help="samples of the operators in torch's op_db of such a name, add or 'nn.*' (default: all)")
    parser.add_argument("--samples", type=int, default=1, metavar="N", help="of each operator of op_db (default: 1)")
    add_plugin(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object a graph")


def _of_file(file: Path) -> Callable[[Recording], None]:
    return lambda recording: recording.run_file(file)


@dataclass
class Counts:
    written: int = 0
    known: int = 0
    refused: int = 0


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.campaign import environment
    from fuzzgraph.cli._options import check_numbers
    from fuzzgraph.errors import UsageError
    from fuzzgraph.execution.infer import InferClient
    from fuzzgraph.grammar import load_rules
    from fuzzgraph.importers.convert import Converter

    check_numbers(args, samples="count")
    if not (args.files or args.command or args.op_db is not None):
        raise UsageError("nothing to import", hint="FILE, --op-db, or -- COMMAND; see fuzzgraph import --help")
    if args.output.exists() and not args.output.is_dir():
        raise UsageError("this is no folder", where=str(args.output), hint="-o names the folder to write to")
    environment.check_torch()
    status = 0
    with InferClient(timeout=PATIENCE) as infer:
        importer = _Importer(args, Converter(load_rules(), infer))
        for file in args.files:
            importer.take(file.stem, _of_file(file))
        if args.op_db is not None:
            importer.take("op_db", lambda recording: recording.run_samples(args.op_db, args.samples))
        if args.command:
            status = importer.command(args.command)
    counts = importer.counts
    if not args.json:
        print(f"{counts.written} programs written to {args.output}, {counts.known} known already, "
              f"{counts.refused} graphs refused")  # fmt: skip
    return status or (0 if counts.written + counts.known else 1)


class _Importer:
    """Converts what is recorded, writes it and lists it."""

    def __init__(self, args: argparse.Namespace, converter: Converter) -> None:
        self.folder, self.json, self.converter, self.counts = args.output, args.json, converter, Counts()

    def take(self, stem: str, record: Callable[[Recording], Any]) -> int:
        """Record into a folder of its own and import all that came, also where the recording was interrupted.
        Returns how many graphs there were."""
        from fuzzgraph.importers.sources import Recording

        with Recording() as recording:
            try:
                record(recording)
            finally:
                graphs = 0
                for graph in recording.graphs():
                    graphs += 1
                    self._one(stem, graph)
            return graphs

    def command(self, command: list[str]) -> int:
        """The exit status of the import of what a user's command compiles. Raises UsageError where that is nothing."""
        from fuzzgraph.errors import UsageError

        said = " ".join(command)
        status, why = 0, ""

        def record(recording: Recording) -> None:
            nonlocal status, why
            status = recording.run_command(command)
            why = recording.why_nothing()
            for problem in recording.problems():
                print(f"fuzzgraph: {said}: a graph could not be recorded: {problem}", file=sys.stderr)

        graphs = self.take(_stem(command), record)
        ended = f"signal {-status}" if status < 0 else f"exit status {status}"
        if not graphs:
            raise UsageError(f"the command failed with {ended}; {why}" if status else why, where=said)
        if status:
            print(f"fuzzgraph: {said}: the command failed with {ended}; what it compiled before is imported",
                  file=sys.stderr)  # fmt: skip
        return 1 if status else 0

    def _one(self, stem: str, graph: Recorded) -> None:
        from fuzzgraph.importers.convert import Refused
        from fuzzgraph.ir.hash import content_hash
        from fuzzgraph.ir.text import format

        origin = graph.origin or stem
        try:
            made = self.converter.convert(graph)
        except Refused as error:
            self.counts.refused += 1
            self._say({"origin": origin, "refused": str(error)}, f"refused: {origin}: {error}")
            return
        digest = content_hash(made.program)
        known = sorted(self.folder.glob(f"*_{digest[:10]}.fg"))
        path = known[0] if known else self.folder / f"{stem}_{digest[:10]}.fg"
        if known:
            self.counts.known += 1
        else:
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# Imported from {origin}.\n{format(made.program)}", encoding="utf-8")
            self.counts.written += 1
        verbatim = "".join(f", {count} x python({name})" for name, count in made.python.items())
        text = f"{path}: {made.program.size} operators{verbatim} ({'known already: ' if known else ''}{origin})"
        row = {"origin": origin, "program": str(path), "new": not known, "operators": made.program.size,
               "python": made.python}  # fmt: skip
        self._say(row, text)

    def _say(self, row: dict[str, Any], text: str) -> None:
        print(json.dumps(row) if self.json else " ".join(text.split()), flush=True)


def _stem(command: list[str]) -> str:
    """What a command's programs are called: by its script, else by its first word."""
    script = next((word for word in command[1:] if Path(word).is_file()), command[0])
    return Path(script).stem
