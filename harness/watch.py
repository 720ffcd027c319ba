"""The watchdog: sees a child through its batch and says what became of each program. Outside the child, always."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..execution.protocol import OUTPUT_LIMIT, ErrorInfo, Failure, Job, Outcome
from . import limits
from .slot import Slot

# Seconds between looks at memory and CPU time. A program that touches memory at full speed gets about 0.5 GB per
# look, and RLIMIT_DATA refuses the ordinary kind before that.
LOOK_EVERY = 0.1
# A program over its limit in wall time alone is a hang if it wanted less of a core than this.
IDLE = 0.05
# Times its limit that any program may take in wall time, less what it waited for a core; and with that.
PATIENCE, STARVED = 5.0, 20.0
# Seconds that a child gets to write its stack before it is killed for its time.
STACK_GRACE = 0.3
# Exit status of a child whose own code failed, which is no fault of the program.
HARNESS_FAULT = 97
# A forked child is ready at once; a spawned one imports torch and starts a GPU first.
START_SECONDS = 120.0


@dataclass
class Limits:
    """`memory`: bytes a program may use above what its process used at the start."""

    memory: int
    start: float = START_SECONDS


class Abandoned(Exception):
    """The engine is gone: nobody waits for outcomes any more."""


class Watch:
    """Runs one child to its end. `emit` gets each outcome; `abandoned()` is asked when `engine_fd` is readable."""

    def __init__(self, pid: int, slot: Slot, jobs: list[Job], bounds: Limits, engine_fd: int) -> None:
        self.pid, self.slot, self.jobs, self.bounds, self.engine_fd = pid, slot, jobs, bounds, engine_fd
        self.started = time.monotonic()
        self.base_rss = limits.rss_bytes(pid)
        self.cause: str | None = None  # why it was killed, if it was
        self.head_at_kill: tuple[int, str, float, float] | None = None
        self.done = 0  # programs of this child with an outcome

    def run(self, emit: Callable[[Outcome], None], abandoned: Callable[[], bool]) -> None:
        """Returns when the child and all that it started are gone; then `self.done` programs have outcomes."""
        pidfd = os.pidfd_open(self.pid)
        poll = select.poll()
        for fd in (pidfd, self.slot.read_fd, self.engine_fd):
            poll.register(fd, select.POLLIN)
        try:
            while True:
                ready = {fd for fd, _ in poll.poll(1000 * self._patience())}
                self._forward(emit)
                if pidfd in ready:
                    break
                if self.engine_fd in ready:
                    if abandoned():
                        limits.kill_group(self.pid)
                        raise Abandoned
                    # A message that waits its turn: stop listening, or this loop would spin.
                    poll.unregister(self.engine_fd)
                if self.slot.read_fd in ready and self.slot_closed(poll):
                    continue
                self._look()
        finally:
            os.close(pidfd)
            _, status, _ = os.wait4(self.pid, 0)
            limits.kill_group(self.pid)
            limits.reap_orphans()
        self._forward(emit)
        self._bury(status, emit)

    def slot_closed(self, poll: select.poll) -> bool:
        """The child closed its end: stop listening there; its death is what comes next."""
        try:
            closed = os.read(self.slot.read_fd, 0) == b"" and not self._has_writer()
        except OSError:
            closed = False
        if closed:
            poll.unregister(self.slot.read_fd)
        return closed

    def _has_writer(self) -> bool:
        probe = select.poll()
        probe.register(self.slot.read_fd, 0)
        return not any(event & select.POLLHUP for _, event in probe.poll(0))

    def _patience(self) -> float:
        """Seconds until the next look."""
        index, _, since, _ = self.slot.head()
        limit = self.bounds.start if index < 0 else self.jobs[index].timeout
        start = self.started if index < 0 else since
        left = start + limit - time.monotonic()
        return LOOK_EVERY if left <= 0 else max(0.001, min(LOOK_EVERY, left))

    def _forward(self, emit: Callable[[Outcome], None]) -> None:
        for message in self.slot.receive():
            self.done += 1
            emit(Outcome.from_data(message))

    def _look(self) -> None:
        """Kill the child if it is over a limit."""
        index, _, since, cpu = self.slot.head()
        if self.cause is not None:
            return
        limit = self.bounds.start if index < 0 else self.jobs[index].timeout
        start = self.started if index < 0 else since
        used = limits.cpu_seconds(self.pid) - cpu if index >= 0 else 0.0
        wall = time.monotonic() - start
        # Time is CPU time: on a busy machine a program must not look like a hang. One that waits uses none.
        if used > limit or (wall > limit and self._hangs(wall, used, limit)):
            self._kill("timeout")
        elif self.bounds.memory and limits.rss_bytes(self.pid) > self.base_rss + self.bounds.memory:
            self._kill("memory")

    def _hangs(self, wall: float, used: float, limit: float) -> bool:
        """Whether the child and what it started took too long, or asked for next to nothing, a share of a core below
        IDLE. What is ready to run and gets no core is starved, and no hang."""
        waited = min(wall, limits.group_waiting_seconds(self.pid))
        did = max(used, limits.group_cpu_seconds(self.pid)) + waited
        return did < IDLE * wall or wall - waited > PATIENCE * limit or wall > STARVED * limit

    def _kill(self, cause: str) -> None:
        self.cause = cause
        # Before the signal: it ends a system call that hangs, and the program may go on for a moment.
        self.head_at_kill = self.slot.head()
        try:
            os.kill(self.pid, limits.STACK_SIGNAL)
        except ProcessLookupError:
            return
        end = time.monotonic() + STACK_GRACE
        while time.monotonic() < end and not self.slot.stack():
            time.sleep(0.01)
        limits.kill_group(self.pid)

    def _bury(self, status: int, emit: Callable[[Outcome], None]) -> None:
        """Charge the program that ran, if one has no outcome yet."""
        left = self.slot.left_reply()
        if left is not None:
            self.done += 1
            emit(Outcome.from_data(left))
            return
        index, phase, since, _ = self.head_at_kill or self.slot.head()
        if self.done >= len(self.jobs) or index != self.done:
            return
        self.done += 1
        emit(self._death(self.jobs[index], phase, status, time.monotonic() - since))

    def _death(self, job: Job, phase: str, status: int, wall: float) -> Outcome:
        kind, code, error = self._describe(status)
        stack = self.slot.stack()
        if code == HARNESS_FAULT and stack.startswith("harness: "):
            return Outcome(job.id, "lost", "harness", error=ErrorInfo("HarnessFault", stack))
        frames = stack_frames(stack)
        error = ErrorInfo(error.type, error.message, frames=frames, traceback=stack)
        stage = {"start": "load", "done": "judge"}.get(phase, phase)
        failures: tuple[Failure, ...] = ()
        # In the cover tier kernels do nothing, so what runs after them works on made-up data: not the compiler's fault.
        if phase == "subject" and job.tier == "compare":
            failures = (Failure("crash", kind, stage, error.message, stack, frames, error.type, (error.type,)),)
        elif stage == "judge" and kind == "signal" and job.tier == "compare" and self._damaged(stack):
            # Where that shows says nothing of what did it.
            detail = f"after the compiled run, which damaged memory: {stack}"
            failures = (Failure("crash", kind, "run", error.message, detail, (), error.type, (error.type,)),)
        return Outcome(
            job.id, kind, stage, failures, error, wall=wall, output=self.slot.output(OUTPUT_LIMIT), code=code,
            position=index_of(self.jobs, job),
        )  # fmt: skip

    def _damaged(self, stack: str) -> bool:
        """Whether a death of the judge is due to memory that the compiled run damaged: the allocator says so, or it
        came while results were compared or freed. Where the judge ran the program once more, eager may be at fault."""
        return bool(_HEAP.search(self.slot.output(OUTPUT_LIMIT))) or not _RUNS_PROGRAM.search(stack)

    def _describe(self, status: int) -> tuple[str, int | None, ErrorInfo]:
        if self.cause == "timeout":
            return "timeout", None, ErrorInfo("Timeout", "ran past its time limit")
        if self.cause == "memory":
            return "memory", None, ErrorInfo("Memory", "used more memory than allowed")
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            try:
                name = signal.Signals(number).name
            except ValueError:
                name = f"signal {number}"
            return "signal", number, ErrorInfo(name, f"killed by {name}")
        code = os.WEXITSTATUS(status)
        return "exit", code, ErrorInfo("Exit", "ended the process")


def index_of(jobs: list[Job], job: Job) -> int:
    return next(i for i, j in enumerate(jobs) if j is job)


# What glibc says of a heap that is no longer one.
_HEAP = re.compile(r"free\(\)|malloc\(\)|realloc\(\)|double free|corrupted|munmap_chunk")
_RUNS_PROGRAM = re.compile(r'harness/program\.py", line \d+ in run_once')
_STACK_LINE = re.compile(r'File "(?:.*/site-packages/|.*/)torch/([^"]+)", line \d+ in (\S+)')


def stack_frames(stack: str, limit: int = 6) -> tuple[str, ...]:
    """The innermost torch frames of a fault handler's dump (which starts with the innermost), innermost last."""
    found = [f"{file}:{function}" for file, function in _STACK_LINE.findall(stack)]
    return tuple(reversed(found[:limit]))
