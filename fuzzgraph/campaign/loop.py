"""The loop: fill the executor, collect outcomes, checkpoint, until something says stop."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fuzzgraph.execution.protocol import Job, Outcome
from fuzzgraph.ir.hash import content_hash

from .backlog import Backlog
from .clock import Clock
from .config import Config
from .cpu import CpuMeter
from .events import Bus, Checkpoint, Dropped, Event, FindingSeen, Started, Stopped, Tick, Waiting
from .judge import Judge
from .supply import Candidate, Supply
from .task import Purpose, Task

# In a row without a single program that could be made: something is wrong with the grammar or the generator.
HOPELESS = 2000
# Batches in flight for each job: one that runs, one that waits for it.
AHEAD = 2
# Batches grow with the corpus, by one program for so many entries: while there are few, what comes back soon is worth
# more than cheap forks, since there is little to mutate.
GROW = 2
# Programs that may wait to be judged; each holds its graph in memory, some 50 kB.
PATIENT = 200


class ExecutorLike(Protocol):
    def submit(self, jobs: Sequence[Job]) -> Any: ...

    def poll(self, timeout: float | None = None) -> list[Outcome]: ...

    def close(self) -> None: ...


@dataclass
class Progress:
    """Where the campaign stands, over all its sessions; what a resume goes on from."""

    next: int = 0
    programs: int = 0
    elapsed: float = 0.0
    cpu: float = 0.0
    sessions: int = 0


@dataclass
class Campaign:
    """Runs until a budget is spent, `stop` is called, or `stop_on` matches a finding. It prints nothing and stores
    nothing: subscribers of `bus` do. All that it needs to go on later is in the checkpoints that it publishes, `extra`
    included.
    """

    config: Config
    executor: ExecutorLike
    make_job: Callable[[Task], Job]
    supply: Supply
    judge: Judge
    bus: Bus
    clock: Clock
    progress: Progress
    known: set[str] = field(default_factory=set)
    queue: Backlog = field(default_factory=Backlog)
    extra: Callable[[], dict[str, Any]] = dict

    def __post_init__(self) -> None:
        self._running: dict[str, Task] = {}
        self._batches: dict[str, int] = {}
        self._open: dict[int, int] = {}
        self._submitted = 0
        self._stop = ""
        self._barren = 0
        self._meter = CpuMeter(imports=True)
        self._base = (self.progress.elapsed, self.progress.cpu)
        self._began = time.monotonic()
        self._next_tick = 0.0
        self.bus.subscribe(self._watch)

    def stop(self, reason: str) -> None:
        """Ask the loop to end after what it does now. Safe in a signal handler."""
        self._stop = self._stop or reason

    def _watch(self, event: Event) -> None:
        if isinstance(event, FindingSeen) and self.config.stop_on and event.first:
            if re.search(self.config.stop_on, event.finding.signature):
                self.stop("the finding that --stop-on names")

    def run(self) -> str:
        """Run to the end; return why it ended."""
        self.clock.seconds["start"] += time.process_time()
        self.progress.sessions += 1
        resumed = self.progress.sessions > 1
        self.bus.publish(Started(self.config.seed, resumed, len(self.judge.library)))
        reason = ""
        try:
            with self.clock.section("loop"):
                while not reason:
                    self._fill()
                    self._collect()
                    self._tick()
                    reason = self._end()
        finally:
            self._account(fresh=True)
            for task in (*self._running.values(), *self.queue):
                self.bus.publish(Waiting(task))
            self._checkpoint()
            self.bus.publish(Stopped(reason or "error", self.progress.elapsed, self.progress.cpu))
        return reason

    # Ending

    def _end(self) -> str:
        config, progress = self.config, self.progress
        if self._stop:
            return self._stop
        if config.time and progress.elapsed >= config.time:
            return "time"
        if config.cpu_seconds and progress.cpu >= config.cpu_seconds:
            return "CPU seconds"
        if self._enough() and not self._running and not self.queue:
            return "programs"
        if self._barren >= HOPELESS:
            return f"no program could be made in {HOPELESS} tries"
        return ""

    def _enough(self) -> bool:
        """Whether no further program is to be made: those under way are still followed to their end."""
        waiting = sum(task.first for task in self._running.values()) + sum(task.first for task in self.queue)
        return bool(self.config.programs) and self.progress.programs + waiting >= self.config.programs

    # Filling

    def _fill(self) -> None:
        room = 1 if self.config.deterministic else AHEAD * self.config.jobs
        while len(self._open) < room and not self._stop:
            batch = self._batch()
            if not batch:
                return
            self._submit(batch)

    def _batch(self) -> list[Task]:
        """What is submitted together: waiting programs whose kernels are compiled together, one alone, or several new
        ones that are only covered."""
        batch: list[Task] = []
        waiting = self.queue.pop(self._afford())
        while waiting is not None:
            batch.append(waiting)
            if waiting.purpose == "cover":
                # Programs that a stop cut off go as the batch that they were.
                waiting = self.queue.pop_cut_off()
            else:
                more = waiting.kernels and len(batch) < self.config.batch and not self.queue.urgent
                waiting = self.queue.pop(True) if more else None
        if batch:
            return batch
        size = min(self.config.batch, 1 + len(self.judge.library) // GROW)
        while len(batch) < size and not self._enough_with(batch) and self._barren < HOPELESS:
            task = self._make()
            if task is None:
                continue
            if task.purpose != "cover":
                if not batch:
                    return [task]
                self.queue.append(task)
                return batch
            batch.append(task)
        return batch

    def _afford(self) -> bool:
        """Whether a program that merely brought new coverage is to be judged now: when judging has had less than its
        share, when too many wait, or when nothing else is left to do."""
        due = self.judge.spending.sample() or self.queue.patient >= PATIENT or self._enough()
        return due and self.queue.patient > 0

    def _enough_with(self, batch: list[Task]) -> bool:
        if not self.config.programs:
            return False
        waiting = sum(task.first for task in (*self._running.values(), *self.queue, *batch))
        return self.progress.programs + waiting >= self.config.programs

    def _make(self) -> Task | None:
        number = self.progress.next
        self.progress.next += 1
        candidate = self.supply.next(number)
        self._barren += 1
        if candidate.program is None:
            self.bus.publish(Dropped(number, candidate.origin, candidate.reason))
            return None
        with self.clock.section("hash"):
            key = content_hash(candidate.program)
        if key in self.known:
            self.bus.publish(Dropped(number, candidate.origin, "duplicate"))
            return None
        self._barren = 0
        self.known.add(key)
        return Task(number, candidate.program, key, candidate.origin, self._first_purpose(candidate))

    @staticmethod
    def _first_purpose(candidate: Candidate) -> Purpose:
        # A model thought about these, and they were paid for: judged whether they bring new coverage or not. Whether a
        # program raises as it should shows only where its kernels run.
        assert candidate.program is not None
        broken = candidate.program.options.expects_error
        return "compare" if candidate.origin.kind == "llm" or broken else "cover"

    def _submit(self, batch: list[Task]) -> None:
        with self.clock.section("render"):
            jobs = [self.make_job(task) for task in batch]
        self._submitted += 1
        self._open[self._submitted] = len(jobs)
        for task, job in zip(batch, jobs):
            if task.purpose == "compare" and task.novel:
                self.judge.spending.promise()
            self._running[job.id] = task
            self._batches[job.id] = self._submitted
        with self.clock.section("messages"):
            self.executor.submit(jobs)

    # Collecting

    def _collect(self) -> None:
        if not self._running:
            return
        outcomes: list[Outcome] = []
        while True:
            with self.clock.section("messages"):
                outcomes += self.executor.poll(0.5)
            # Deterministic: outcomes count in the order of programs, so a batch is awaited whole.
            if not self.config.deterministic or len(outcomes) >= len(self._running) or self._stop:
                break
            self._tick()
        outcomes = [o for o in outcomes if o.id in self._running]
        for outcome in sorted(outcomes, key=lambda o: self._running[o.id].number):
            self._take(outcome)
        if outcomes:
            self._account()
            self._checkpoint()

    def _take(self, outcome: Outcome) -> None:
        task = self._running.pop(outcome.id)
        batch = self._batches.pop(outcome.id)
        self._open[batch] -= 1
        if self._open[batch] == 0:
            del self._open[batch]
        if task.first:
            self.progress.programs += 1
        following = self.judge.take(task, outcome)
        if following is not None:
            self.queue.append(following)

    def _account(self, fresh: bool = False) -> None:
        self.progress.elapsed = self._base[0] + time.monotonic() - self._began
        self.progress.cpu = self._base[1] + self._meter.read(fresh)

    def _tick(self) -> None:
        now = time.monotonic()
        if now >= self._next_tick:
            self._next_tick = now + 1.0
            self._account()
            waiting = sum(not task.first for task in self.queue)
            self.bus.publish(Tick(self.progress.elapsed, self.progress.cpu, len(self._running), waiting))

    def _checkpoint(self) -> None:
        state = {
            "progress": dict(vars(self.progress)),
            "bandit": self.supply.bandit.state(),
            "spending": self.judge.spending.state(),
            "clock": dict(self.clock.seconds),
            **self.extra(),
        }
        self.bus.publish(Checkpoint(state, self.judge.interner.take_fresh(), self.judge.scheduler.take_picks()))
