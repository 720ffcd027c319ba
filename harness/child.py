"""The child: executes the programs of one batch, one after the other, and reports each.

It trusts no program: each may print, close descriptors, fork, raise anything, or never come back.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
from dataclasses import replace

import torch

from ..execution.protocol import OUTPUT_LIMIT, ErrorInfo, Job, Outcome
from . import bisect, failures, limits, nodes, observers, targets
from .runner import Context, execute
from .slot import Slot
from .watch import HARNESS_FAULT


def run(slot: Slot, jobs: list[Job], context: Context, close: tuple[int, ...] = ()) -> None:
    """Run all jobs and end the process. Never returns: `os._exit` also skips what programs left for exit."""
    try:
        slot.adopt(close)
        limits.confine(context.memory, slot.stack_fd)
        # Backward starts autograd's device threads, which all set their number of threads at once; the first to do so
        # after a fork renews torch's thread pool, and two at a time end the process (2 % of programs with backward).
        torch.set_num_threads(1)
        me = os.getpid()
        for index, job in enumerate(jobs):
            slot.begin(index)
            outcome = replace(_run_one(slot, job, context), position=index)
            if os.getpid() != me:  # the program forked, and this is the copy
                os._exit(0)
            slot.enter("done")
            if not slot.send(outcome.to_data()):
                os._exit(0)
            if not targets.load(job.target).healthy():
                os._exit(0)
            if index + 1 < len(jobs):
                _forget(context)
    except BaseException as e:
        os.write(slot.stack_fd, f"harness: {type(e).__name__}: {e}".encode())
        os._exit(HARNESS_FAULT)
    os._exit(0)


def _run_one(slot: Slot, job: Job, context: Context) -> Outcome:
    """The outcome, with its cost, its output and what the observers saw."""
    cpu, below, wall = limits.own_cpu(), limits.children_cpu(), time.monotonic()
    try:
        if job.coverage:
            observers.begin(full=job.coverage == "full")
        context.kernels.clear()
        run = {"bisect": bisect.execute, "nodes": nodes.execute}.get(job.tier, execute)
        outcome = replace(run(job, slot.enter, context), kernels=tuple(context.kernels))
    except SystemExit as e:  # from the program; os._exit is what the watchdog sees
        code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
        error = ErrorInfo("SystemExit", f"exit status {e.code}")
        outcome = Outcome(job.id, "exit", "reference", error=error, code=code)
    except BaseException as e:  # ours: programs' exceptions end in execute()
        outcome = Outcome(job.id, "lost", "harness", error=failures.error_info(e))
    features = observers.end() if job.coverage else {}
    return replace(
        outcome, features=features, cpu=limits.own_cpu() - cpu, wall=time.monotonic() - wall,
        cpu_below=limits.children_cpu() - below, output=_output(slot), versions=context.versions,
    )  # fmt: skip


def _output(slot: Slot) -> str:
    """What the program printed, from Python and from C."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # the program closed or replaced it
            continue
    ctypes.CDLL(None).fflush(None)
    return slot.output(OUTPUT_LIMIT)


def _forget(context: Context) -> None:
    """Between two programs: caches that would let one see the other, or grow. Costs 3 % of a program's Python time."""
    torch._dynamo.reset()
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    for name in context.reset_modules:
        sys.modules.pop(name, None)
    gc.collect()
