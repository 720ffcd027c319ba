"""`fuzzgraph show FILE`: a program as text, as Python source, or as FX graph."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "print a program as text, Python source or graph"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("programs", nargs="+", metavar="FILE", help=".fg file, finding's directory, or CAMPAIGN:ENTRY")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="campaign whose entries FILE may name")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--source", action="store_true", help="the Python source that is executed")
    form.add_argument("--graph", action="store_true", help="the FX graphs")


def run(args: argparse.Namespace) -> int:
    from fuzzgraph.cli._programs import load
    from fuzzgraph.ir.text import format

    several = len(args.programs) > 1
    for name in args.programs:
        for named in load(name, args.corpus, infer=None):
            if several:
                print(f"# {named.name}")
            if args.source:
                from fuzzgraph.render import render

                print(render(named.program).source, end="")
            elif args.graph:
                for function in named.program.functions:
                    print(f"{function.name}:\n{function.graph}")
            else:
                print(format(named.program), end="")
    return 0
