"""Start-up checks: before a campaign trusts its harness, a planted crash, hang and miscompile must be caught."""

from __future__ import annotations

import time

from ..errors import EnvironmentProblem
from .executor import Executor
from .protocol import Job, Outcome

_SOURCE = """import torch


def make_inputs():
    return {{"x": torch.arange(4.0)}}


def f(x):
    return x * 2


def run(wrap, inputs):
    f.fault = {fault!r}
    return [wrap(f)(inputs["x"])]
"""
# Fault: the outcome's status and the failure that must be there.
_EXPECTED: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "none": ("ok", ()),
    "crash": ("signal", (("crash", "signal"),)),
    "hang": ("timeout", (("crash", "timeout"),)),
    "miscompile": ("failure", (("value", "value"),)),
}
# Long enough that a busy machine's healthy program is not taken for a hang; only the planted hang lasts as long.
_TIMEOUT = {"hang": 1.0}


def startup_checks(executor: Executor) -> str:
    """Plant each fault and see it caught; returns one line. Takes about a second beside the start of a worker.

    Raises EnvironmentProblem, saying what was not caught.
    """
    executor.start("selfcheck")
    began = time.monotonic()
    jobs = [
        Job(f"selfcheck-{fault}", _SOURCE.format(fault=fault), target="selfcheck", timeout=_TIMEOUT.get(fault, 30.0))
        for fault in _EXPECTED
    ]
    for fault, outcome in zip(_EXPECTED, executor.run(jobs), strict=True):
        if problem := _problem(fault, outcome):
            raise EnvironmentProblem(problem, where="start-up checks")
    caught = ", ".join(f for f in _EXPECTED if f != "none")
    return f"start-up checks: planted {caught} caught ({time.monotonic() - began:.1f} s)"


def _problem(fault: str, outcome: Outcome) -> str | None:
    status, failures = _EXPECTED[fault]
    seen = tuple((f.oracle, f.kind) for f in outcome.failures)
    if (outcome.status, seen) == (status, failures):
        return None
    why = f": {outcome.error.type}: {outcome.error.message[:200]}" if outcome.error else ""
    return f"planted {fault} gave {outcome.status} {list(seen)}, not {status} {list(failures)}{why}"
