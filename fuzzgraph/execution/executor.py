"""The worker pool: jobs in, outcomes out in any order, whatever the programs do to the processes that run them."""

from __future__ import annotations

import select
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import EnvironmentProblem
from .process import HarnessProcess
from .protocol import ErrorInfo, Job, Outcome

# A zygote's start: about 8 s of CPU on an idle core, ten g++ runs among them; CI machines are several times slower.
START_SECONDS = 240.0
# Bytes a program may use above what its process starts with: the largest honest program seen needs a tenth.
MEMORY = 4 << 30
# Starts of a worker that may fail in a row before the environment is given up.
START_TRIES = 2


@dataclass
class _Worker:
    """One zygote and what it is doing."""

    process: HarnessProcess
    target: str
    folder: Path
    since: float
    ready: bool = False
    serves: tuple[str, ...] = ()
    unavailable: str | None = None
    jobs: dict[str, Job] | None = None  # in flight, by id, in order
    cpu: float = 0.0
    reply: dict[str, Any] | None = None

    @property
    def idle(self) -> bool:
        return self.ready and self.jobs is None


class Executor:
    """Runs jobs on `jobs` zygotes, `batch` programs to a forked child.

    Outcomes come in any order, exactly one per submitted job. Whatever a program does ends as its outcome; a job
    whose zygote dies is tried once more and is then `lost`. `scratch` is a folder of the caller's; without it a
    temporary one is made. `on_notice` gets one line per thing that is switched off. Use as a context manager, or
    `close()`. Not thread-safe.
    """

    def __init__(
        self,
        *,
        jobs: int = 1,
        batch: int = 1,
        preload: Sequence[str | Path] = (),
        scratch: str | Path | None = None,
        memory: int = MEMORY,
        python: str = sys.executable,
        start_timeout: float = START_SECONDS,
        observers: bool = True,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        self.size, self.batch, self.memory, self.python = max(1, jobs), max(1, batch), memory, python
        self.preload = [str(Path(p).resolve()) for p in preload]
        self.start_timeout, self.observers, self.on_notice = start_timeout, observers, on_notice
        self.scratch = Path(tempfile.mkdtemp(prefix="fuzzgraph-", dir=scratch))
        self.versions: dict[str, str] = {}
        self.restarts = 0
        self._workers: list[_Worker] = []
        self._queue: deque[Job] = deque()
        self._groups: dict[str, int] = {}  # which submit call a queued job came with, by id
        self._group = 0
        self._tries: dict[str, int] = {}
        self._finished: deque[Outcome] = deque()
        self._unavailable: dict[str, str] = {}
        self._noticed: set[str] = set()
        self._past_cpu = 0.0
        self._failed_starts = 0
        self._serial = 0

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def pending(self) -> int:
        """Jobs submitted whose outcome `poll` has not returned yet."""
        flying = sum(len(w.jobs) for w in self._workers if w.jobs)
        return len(self._queue) + flying + len(self._finished)

    @property
    def cpu(self) -> float:
        """CPU seconds of all harness processes so far, their children and g++ included (as of the last batch)."""
        return self._past_cpu + sum(w.cpu for w in self._workers)

    def unavailable(self, target: str) -> str | None:
        """Why a target cannot run here, or None. Starts a worker for it if there is none. Raises EnvironmentProblem
        where the harness itself does not start."""
        if target not in self._unavailable and not any(target in w.serves for w in self._workers):
            worker = self._start(target)
            while not worker.ready and worker in self._workers:
                self._wait(1.0)
            if worker not in self._workers and target not in self._unavailable:
                return self.unavailable(target)
        return self._unavailable.get(target)

    def start(self, target: str = "inductor") -> None:
        """Have a worker for the target ready. Raises EnvironmentProblem with the reason where there cannot be one."""
        reason = self.unavailable(target)
        if reason is not None:
            raise EnvironmentProblem(f"target {target} cannot run here: {reason}")

    def baseline(self, target: str = "inductor") -> dict[str, Any]:
        """What import and warm-up covered, by key space. To be asked while nothing is pending."""
        self.start(target)
        self._settle()
        worker = next(w for w in self._workers if target in w.serves and w.idle)
        worker.process.send({"type": "baseline"})
        while worker.reply is None and worker in self._workers:
            self._wait(1.0)
        if worker.reply is None:
            raise EnvironmentProblem("the zygote died when asked for its baseline", where="harness")
        features: dict[str, Any] = worker.reply["features"]
        worker.reply = None
        return features

    def submit(self, jobs: Iterable[Job]) -> None:
        """Queue jobs; ids must be unique among those pending. Only jobs of one call ever share a child."""
        self._group += 1
        jobs = list(jobs)
        self._groups.update((job.id, self._group) for job in jobs)
        self._queue.extend(jobs)
        self._dispatch()

    def poll(self, timeout: float = 0.0) -> list[Outcome]:
        """Outcomes that have arrived, waiting up to `timeout` seconds for the first. Raises EnvironmentProblem where
        the harness does not start."""
        deadline = time.monotonic() + timeout
        while True:
            self._dispatch()
            left = deadline - time.monotonic()
            if self._finished or not self.pending:
                self._wait(0.0)
                break
            self._wait(max(0.0, min(left, 1.0)))
            if left <= 0:
                break
        done = list(self._finished)
        self._finished.clear()
        return done

    def run(self, jobs: Iterable[Job]) -> list[Outcome]:
        """Submit and wait for all; outcomes in the order of the jobs."""
        ordered = list(jobs)
        self.submit(ordered)
        found: dict[str, Outcome] = {}
        while len(found) < len(ordered):
            found.update((o.id, o) for o in self.poll(1.0))
        self._settle()
        return [found[j.id] for j in ordered]

    def close(self) -> None:
        """End all processes and remove the scratch folder. Pending jobs get no outcome. May be called twice."""
        for worker in self._workers:
            self._retire(worker, grace=0.0 if worker.jobs else 2.0)
        self._workers.clear()
        self._queue.clear()
        shutil.rmtree(self.scratch, ignore_errors=True)

    # Inside.

    def _settle(self) -> None:
        """Wait until workers without jobs have said so, and what their last batch cost."""
        while any(w.jobs == {} for w in self._workers):
            self._wait(1.0)

    def _dispatch(self) -> None:
        """Give idle workers what they can run; start workers for what nobody can."""
        while self._queue:
            target = self._queue[0].target
            if target in self._unavailable:
                job = self._queue.popleft()
                self._lose(job, "TargetUnavailable", self._unavailable[target])
                continue
            worker = next((w for w in self._workers if w.idle and target in w.serves), None)
            if worker is None:
                self._make_room(target)
                return
            jobs = [self._queue.popleft()]
            while self._queue and len(jobs) < self.batch and self._together(jobs[0], self._queue[0], worker):
                jobs.append(self._queue.popleft())
            worker.jobs = {j.id: j for j in jobs}
            worker.since = time.monotonic()
            try:
                worker.process.send({"type": "batch", "jobs": [j.to_data() for j in jobs]})
            except OSError:
                self._died(worker)

    def _together(self, first: Job, job: Job, worker: _Worker) -> bool:
        return self._groups.get(first.id) == self._groups.get(job.id) and job.target in worker.serves

    def _make_room(self, target: str) -> None:
        """Start a worker for a target, in the place of an idle one of another target if need be."""
        if len(self._workers) >= self.size:
            other = next((w for w in self._workers if w.idle and target not in w.serves), None)
            if other is None or any(not w.ready and w.target == target for w in self._workers):
                return
            self._retire(other, grace=2.0)
            self._workers.remove(other)
        self._start(target)

    def _start(self, target: str) -> _Worker:
        self._serial += 1
        folder = self.scratch / f"zygote-{self._serial}"
        arguments = ["--target", target, "--scratch", str(folder), "--memory", str(self.memory)]
        for file in self.preload:
            arguments += ["--preload", file]
        if not self.observers:
            arguments.append("--no-observers")
        process = HarnessProcess("zygote", arguments, folder, self.python)
        worker = _Worker(process, target, folder, time.monotonic())
        self._workers.append(worker)
        return worker

    def _wait(self, timeout: float) -> None:
        """Take in what workers sent within `timeout` seconds."""
        poller = select.poll()
        by_fd = {w.process.read_fd: w for w in self._workers}
        for fd in by_fd:
            poller.register(fd, select.POLLIN)
        for fd, _ in poller.poll(timeout * 1000):
            self._read(by_fd[fd])
        now = time.monotonic()
        for worker in list(self._workers):
            if not worker.ready and now - worker.since > self.start_timeout:
                self._died(worker, "did not start in time")

    def _read(self, worker: _Worker) -> None:
        messages, ended = worker.process.receive()
        for message in messages:
            kind = message["type"]
            if kind == "outcome":
                outcome = Outcome.from_data(message["outcome"])
                if worker.jobs is not None:
                    worker.jobs.pop(outcome.id, None)
                self._tries.pop(outcome.id, None)
                self._groups.pop(outcome.id, None)
                self._finished.append(outcome)
            elif kind == "batch_done":
                worker.jobs, worker.cpu = None, message["cpu"]
            elif kind == "ready":
                self._started(worker, message)
            elif kind == "failed":
                self._died(worker, message["message"])
                return
            else:
                worker.reply = message
        if ended:
            self._died(worker)

    def _started(self, worker: _Worker, message: dict[str, Any]) -> None:
        worker.ready, self._failed_starts = True, 0
        worker.serves, worker.cpu = tuple(message["serves"]), message["cpu"]
        for notice in message["notices"]:
            if notice not in self._noticed and self.on_notice is not None:
                self.on_notice(notice)
            self._noticed.add(notice)
        if message["unavailable"] is not None:
            self._unavailable[worker.target] = message["unavailable"]
            self._retire(worker, grace=2.0)
            self._workers.remove(worker)
        else:
            self.versions = message["versions"]

    def _died(self, worker: _Worker, reason: str | None = None) -> None:
        """A zygote is gone: its jobs are tried once more, then lost. One that never started counts against the
        environment."""
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        flying = list((worker.jobs or {}).values())
        last_words = worker.process.tail()
        self._retire(worker)
        if not worker.ready:
            self._failed_starts += 1
            if reason is not None or self._failed_starts >= START_TRIES:
                raise EnvironmentProblem(
                    f"the harness does not start: {reason or last_words or 'it said nothing'}",
                    where=f"target {worker.target}",
                )
        self.restarts += 1
        # The first in flight is the one that ran: only it may be at fault.
        for position, job in enumerate(flying):
            if position == 0:
                self._tries[job.id] = self._tries.get(job.id, 0) + 1
            if self._tries.get(job.id, 0) > 1:
                self._lose(job, "HarnessFault", "its zygote died twice")
            else:
                self._queue.appendleft(job)

    def _retire(self, worker: _Worker, grace: float = 0.0) -> None:
        worker.process.end(grace)
        self._past_cpu += worker.process.cpu
        worker.cpu = 0.0
        shutil.rmtree(worker.folder, ignore_errors=True)

    def _lose(self, job: Job, kind: str, message: str) -> None:
        self._tries.pop(job.id, None)
        self._groups.pop(job.id, None)
        self._finished.append(Outcome(job.id, "lost", "harness", error=ErrorInfo(kind, message)))
