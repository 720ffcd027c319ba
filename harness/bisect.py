"""Asks torch's own CompilerBisector which part of the compiler makes a failure: back end, subsystem, and the
application of that subsystem. Each of its trials runs in a fork of this child, so a program may die in any of them.
"""

from __future__ import annotations

import os
import select
import signal
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..execution.protocol import ErrorInfo, Job, Outcome, read_frame, write_frame
from .runner import Context
from .runner import execute as execute_once

FAILS, PASSES, OTHER = "fails", "passes", "other"


def execute(job: Job, enter: Callable[[str], None], context: Context) -> Outcome:
    """`Outcome.report` has backend, subsystem, count, info (as torch's BisectionResult) and trials; where there is no
    answer it has `problem`, a sentence."""
    enter("subject")
    if context.hooks.bisector is None:
        return Outcome(job.id, "ok", report={"problem": "this torch has no compiler bisector"})
    bisector = context.hooks.bisector
    trials: list[str] = []

    def passes() -> bool:
        verdict = attempt(job, context)
        trials.append(verdict)
        # Disabling a part may break the program in another way, which says nothing about the failure at hand: then the
        # part is not what is looked for. A whole back end with another failure does not show this one.
        return verdict == PASSES or (verdict == OTHER and not bisector.get_subsystem())

    try:
        found = bisector.do_bisect(passes)
    except Exception as e:  # torch's, for a failure that comes and goes
        text = f"{type(e).__name__}: {e}"
        error = ErrorInfo(type(e).__name__, str(e), traceback=traceback.format_exc())
        return Outcome(job.id, "ok", report={"problem": text, "trials": len(trials)}, error=error)
    if found is None:
        return Outcome(job.id, "ok", report={"problem": "it does not fail under the bisector", "trials": len(trials)})
    report = {
        "backend": found.backend, "subsystem": found.subsystem, "count": found.bisect_number,
        "info": found.debug_info, "trials": len(trials), "other": trials.count(OTHER),
    }  # fmt: skip
    return Outcome(job.id, "ok", report=report)


def attempt(job: Job, context: Context) -> str:
    """One run of the program in a fork, as the bisector has set the compiler now: does the failure show?"""
    shown = _shown(replace(job, tier="compare", bisect={}), context, job.bisect["limit"])
    if not shown:
        return PASSES
    return FAILS if any(_equal(s, w) for s in shown for w in job.bisect["wanted"]) else OTHER


def _equal(shown: list[str], wanted: list[str]) -> bool:
    """Without an exception type of their own, failures go by oracle and kind."""
    return shown[:2] == list(wanted[:2]) and (not wanted[2] or shown[2] == wanted[2])


def _shown(job: Job, context: Context, limit: float) -> list[list[str]]:
    """[oracle, kind, exception type] of each failure of one execution."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(job, context, reader, writer)
    os.close(writer)
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    late = not poll.poll(1000 * limit)
    if late:
        os.kill(pid, signal.SIGKILL)  # what it started goes with the job's process group
    message = None if late else read_frame(reader)
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    if late:
        return [["crash", "timeout", "Timeout"]]
    if message is not None:
        shown: list[list[str]] = message["shown"]
        return shown
    if os.WIFSIGNALED(status):
        return [["crash", "signal", signal.Signals(os.WTERMSIG(status)).name]]
    return [["crash", "exit", "Exit"]]


def _child(job: Job, context: Context, reader: int, writer: int) -> Any:
    os.close(reader)
    try:
        outcome = execute_once(job, lambda phase: None, context)
        shown = [[f.oracle, f.kind, f.exc_type] for f in outcome.failures]
        if not outcome.valid or outcome.status == "unstable":
            shown = [["", outcome.status, ""]]
        write_frame(writer, {"shown": shown})
    except BaseException:  # ours, or a program's SystemExit: no verdict
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
