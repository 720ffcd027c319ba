"""Asks torch's own CompilerBisector which part of the compiler makes a failure: back end, subsystem, and the
application of that subsystem. Each of its trials runs in a fork of this child, so a program may die in any of them.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace

from ..execution.protocol import ErrorInfo, Job, Outcome
from . import forked
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
    shown = _shown(replace(job, tier="compare", search={}), context, job.search["limit"])
    if not shown:
        return PASSES
    return FAILS if any(_equal(s, w) for s in shown for w in job.search["wanted"]) else OTHER


def _equal(shown: list[str], wanted: list[str]) -> bool:
    """Without an exception type of their own, failures go by oracle and kind."""
    return shown[:2] == list(wanted[:2]) and (not wanted[2] or shown[2] == wanted[2])


def _shown(job: Job, context: Context, limit: float) -> list[list[str]]:
    """[oracle, kind, exception type] of each failure of one execution."""
    answer = forked.call(lambda: {"shown": _failures(job, context)}, limit)
    if isinstance(answer, dict):
        shown: list[list[str]] = answer["shown"]
        return shown
    if answer == forked.TIMEOUT:
        return [["crash", "timeout", "Timeout"]]
    return [["crash", "exit", "Exit"]] if answer == forked.EXIT else [["crash", "signal", answer]]


def _failures(job: Job, context: Context) -> list[list[str]]:
    outcome = execute_once(job, lambda phase: None, context)
    if not outcome.valid or outcome.status == "unstable":
        return [["", outcome.status, ""]]
    return [[f.oracle, f.kind, f.exc_type] for f in outcome.failures]
