"""The standalone script of a failure, and what came of running it."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzgraph import oracles
from fuzzgraph.execution.protocol import Failure
from fuzzgraph.ir.program import Program
from fuzzgraph.render.standalone import ALL, PARTS, VALUES, Checks, standalone

if TYPE_CHECKING:
    from fuzzgraph.grammar import RuleBook

# Exit statuses of a reproducer.
FIXED, BUG, UNDECIDED = 0, 1, 125
WORDS = {FIXED: "fixed", BUG: "still there", UNDECIDED: "undecided"}
# Seconds for one: starts of torch and a first compile, which builds torch's headers on an empty cache. A script limits
# each of its children, of which there are two at most, to 300 s by itself.
LIMIT = 660.0
# What of its output is kept.
OUTPUT = 20_000
# Targets whose script calls torch.compile with another back end than Inductor.
BACKENDS = {"eager": "eager", "aot-eager": "aot_eager", "aot-eager-decomp-partition": "aot_eager_decomp_partition"}


def script(
    program: Program, book: RuleBook | None, failures: Sequence[Failure], *, title: str = "", details: str = "",
    target: str = "inductor",
) -> str:  # fmt: skip
    """The script that checks what failed and no more. Raises ProgramError as `render` does."""
    seen = {failure.oracle for failure in failures}
    return standalone(
        program, book, title=title, details=details, crash=seen <= {"crash"}, fake=seen == {"fake"},
        missed_error=seen == {"missed_error"}, random=_random(failures), checks=checks_for(failures),
        ignore=ignored(oracles.plan_all(program, book)), backend=BACKENDS.get(target, ""),
        hang=any(f.kind == "timeout" for f in failures),
    )  # fmt: skip


def _random(failures: Sequence[Failure]) -> str:
    """The kind of a failure that shows in random numbers alone."""
    kinds = {failure.kind for failure in failures if failure.oracle == "randomness"}
    return kinds.pop() if len(kinds) == len(failures) == 1 else ""


BITS = ("conj", "neg")

# What of a run an oracle looks at; the others look at all of it.
_PARTS = {
    "value": ("results", "states"), "gradient": ("gradients",), "metadata": ("results", "inputs", "states"),
    "structure": ("results", "states", "structure"), "randomness": VALUES,
}  # fmt: skip


def checks_for(failures: Sequence[Failure]) -> Checks:
    """No more than what failed: once that is fixed the script says so, whatever else is wrong with the program."""
    found = [_checks(failure) for failure in failures if failure.oracle != "crash"]
    if not found:
        return ALL
    parts = tuple(part for part in PARTS if any(part in each.parts for each in found))
    return Checks(
        parts, any(c.values for c in found), any(c.layout for c in found), any(c.zero_sign for c in found),
        any(c.bits for c in found),
    )  # fmt: skip


def _checks(failure: Failure) -> Checks:
    kind = failure.kind
    if failure.oracle == "aliasing":
        return Checks(("inputs",) if kind == "mutation" else ("memory",), layout=False)
    if failure.oracle not in _PARTS:  # such as guard, whose kinds are those of the oracles that it asks
        return replace(ALL, zero_sign=kind == "zero_sign", bits=kind in BITS)
    parts = _PARTS[failure.oracle]
    if failure.oracle != "metadata":
        return Checks(parts, layout=False, zero_sign=kind == "zero_sign")
    if kind in BITS:
        return Checks(parts, values=False, layout=False, bits=True)
    layout = kind in ("stride", "requires_grad")
    return Checks(parts, values=not layout, layout=layout)


def ignored(plans: Mapping[str, Any]) -> list[list[str | int]]:
    """What the oracles leave out, by the paths of a reproducer."""
    paths: list[list[str | int]] = []
    for plan in plans.values():
        paths += [["results", *path] for path in plan.get("outputs", ())]
        paths += [[kind, name] for kind in ("inputs", "states") for name in plan.get(kind, ())]
        paths += [] if plan.get("gradients", True) else [["gradients"]]
    return [path for i, path in enumerate(paths) if path not in paths[:i]]


@dataclass(frozen=True)
class Ran:
    """`status` is the exit status; -1: it ran past the limit, which a program cannot make it do."""

    status: int
    output: str

    @property
    def word(self) -> str:
        return WORDS.get(self.status, "undecided")


def run_script(
    path: Path, python: str = sys.executable, environment: Mapping[str, str] | None = None, limit: float = LIMIT
) -> Ran:
    """Run it as a user would: in an interpreter that knows nothing of fuzzgraph. Raises OSError where the interpreter
    does not start."""
    without = ("PYTHONPATH", "PYTHONHOME", "TORCH_LOGS", "TORCH_TRACE")
    env = {k: v for k, v in os.environ.items() if k not in without}
    process = subprocess.Popen(
        [python, path.name], cwd=path.parent, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env={**env, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})},
        start_new_session=True,
    )  # fmt: skip
    _running.add(process)
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        _end(process)
        return Ran(-1, f"ran past {limit:g} s")
    except BaseException:
        _end(process)
        raise
    finally:
        _running.discard(process)
    return Ran(process.returncode, shortened(output.decode(errors="replace")))


# Scripts of all threads: a Ctrl-C reaches the main thread alone.
_running: set[subprocess.Popen[bytes]] = set()


def end_all() -> None:
    """End what `run_script` is running in any thread."""
    for process in list(_running):
        _kill(process)


def end_until(stopped: Callable[[], bool], seconds: float = math.inf) -> None:
    """The same, again and again until `stopped`, or for this long: a thread may be about to start another script."""
    limit = time.monotonic() + seconds
    while not stopped() and time.monotonic() < limit:
        end_all()
        time.sleep(0.1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The script and the children that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:  # it ended by itself
        pass


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    process.communicate()


def shortened(text: str, limit: int = OUTPUT) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - limit} characters left out ...]\n{text[-half:]}"
