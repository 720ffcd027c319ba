"""The command line: `main` finds the subcommands in `commands/`, one file each, by presence.

A subcommand's file defines `HELP` (one line), `configure(parser)` and `run(args) -> int` (the exit status). Its name is
the file's, `_` read as `-`. It imports what it needs inside `run`, so that `--help` costs nothing. Where it defines
`TAKES_COMMAND`, what follows `--` is a command of the user's: `run` finds its words in `args.command`.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import pkgutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from fuzzgraph import __version__
from fuzzgraph.errors import FuzzgraphError
from fuzzgraph.presence import plugged

DESCRIPTION = "Coverage-guided, grammar-based fuzzer for PyTorch's compiler."
EPILOG = (
    "exit status: 0 done and nothing to report, 1 the check found something, 2 usage or bad input, "
    "3 environment (torch, compiler, disk)"
)
_USER = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG,
         errno.ELOOP, errno.ENOTEMPTY}  # fmt: skip
_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EFBIG}


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


def complain(error: FuzzgraphError) -> None:
    """Say in one line on stderr what is wrong."""
    text = " ".join(str(error).split())
    print(f"fuzzgraph: {text}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status. Errors that a user can mend are one line on stderr."""
    _mend_streams()
    try:
        with _signals():
            words, command = _split(list(sys.argv[1:] if argv is None else argv))
            args = parser().parse_args(words)
            args.command = command
            with plugged(getattr(args, "plugin", None) or ()):
                status = int(args.run(args))
            sys.stdout.flush()
            return status
    except FuzzgraphError as error:
        complain(error)
        return error.exit_status
    except BrokenPipeError:
        # The reader (head, less) has what it wanted. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # Wherever it came up: a name that the file system refuses is the user's, a full disk the machine's. Others are
        # ours, and are told with their traceback.
        if error.errno not in _USER | _MACHINE:
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        print(f"fuzzgraph: {where}{error.strerror}", file=sys.stderr)
        return 3 if error.errno in _MACHINE else 2
    except KeyboardInterrupt as error:
        return 128 + int(error.args[0] if error.args else signal.SIGINT)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """The words of ours, and those of the command after `--` where the subcommand takes one."""
    module = subcommands().get(words[0]) if words else None
    if "--" not in words or not getattr(module, "TAKES_COMMAND", False):
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


@contextmanager
def _signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does: what it has so far is kept, its processes and its temporary
    folders go. What is ignored (nohup) stays so, and threads other than the main one cannot listen."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt(number)

    heard = [signal.SIGTERM, signal.SIGHUP] if threading.current_thread() is threading.main_thread() else []
    before = {n: signal.signal(n, interrupt) for n in heard if signal.getsignal(n) == signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _mend_streams() -> None:
    """Files that are opened must not become the standard streams that the caller closed; and a name that is no text in
    the terminal's encoding is shown with escapes, not an error."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number, which is this one: those below it are there.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
