"""The command line: `main` finds the subcommands in `commands/`, one file each, by presence.

A subcommand's file defines `HELP` (one line), `configure(parser)` and `run(args) -> int` (the exit status). Its name is
the file's, `_` read as `-`. It imports what it needs inside `run`, so that `--help` costs nothing.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from types import ModuleType

from fuzzgraph import __version__
from fuzzgraph.errors import FuzzgraphError

DESCRIPTION = "Coverage-guided, grammar-based fuzzer for PyTorch's compiler."
EPILOG = (
    "exit status: 0 done and nothing to report, 1 the check found something, 2 usage or bad input, "
    "3 environment (torch, compiler, disk)"
)


def subcommands() -> dict[str, ModuleType]:
    """Every subcommand's module by its name."""
    from fuzzgraph.cli import commands as package

    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))
    return {name.replace("_", "-"): importlib.import_module(f"{package.__name__}.{name}") for name in names}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="fuzzgraph", description=DESCRIPTION, epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"fuzzgraph {__version__}")
    subparsers = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module in subcommands().items():
        epilog = getattr(module, "EPILOG", None)
        sub = subparsers.add_parser(name, help=module.HELP, description=module.HELP, epilog=epilog)
        module.configure(sub)
        sub.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status. Errors that a user can mend are one line on stderr."""
    try:
        args = parser().parse_args(argv)
        status = int(args.run(args))
        sys.stdout.flush()
        return status
    except FuzzgraphError as error:
        text = " ".join(str(error).split())
        print(f"fuzzgraph: {text}", file=sys.stderr)
        return error.exit_status
    except BrokenPipeError:
        # The reader (head, less) has what it wanted. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
