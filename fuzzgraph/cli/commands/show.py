"""`fuzzgraph show FILE`: a program as text, as Python source, or as FX graph."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzgraph.cli._options import add_plugin

if TYPE_CHECKING:
    from fuzzgraph.ir.program import Program

HELP = "print a program as text, Python source or graph"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("programs", nargs="+", metavar="FILE",
                        help=".fg file, folder, finding's directory, or CAMPAIGN:ENTRY")  # fmt: skip
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="campaign whose entries FILE may name")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--source", action="store_true", help="the Python source that is executed")
    add_plugin(parser)
    form.add_argument("--graph", action="store_true", help="the FX graphs")


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.cli._programs import load
    from fuzzgraph.execution.infer import InferClient
    from fuzzgraph.ir.text import format

    several = len(args.programs) > 1
    # Its process starts only for a file that leaves types out.
    with InferClient() as infer:
        for name in args.programs:
            for named in load(name, args.corpus, infer, trust=True):
                if several:
                    print(f"# {named.name}")
                form = source if args.source else graph if args.graph else format
                print(form(named.program).rstrip("\n"))
    return 0


def source(program: Program) -> str:
    from fuzzgraph.grammar import load_rules
    from fuzzgraph.render import render

    return render(program, load_rules()).source


def graph(program: Program) -> str:
    return "\n".join(f"{function.name}:\n{function.graph}" for function in program.functions)
