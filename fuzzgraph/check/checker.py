"""Runs files through the harness: each alone in a fresh fork, then, where it diverges, down the ladder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import TracebackType

from fuzzgraph.execution.executor import Executor
from fuzzgraph.execution.protocol import Job, Outcome
from fuzzgraph.triage.ablation import Row, ablate
from fuzzgraph.triage.ladder import Rung, find_rung
from fuzzgraph.triage.matching import Shows

from .source import Checked
from .verdict import TIMEOUT, Verdict, verdict

# Judging takes up to seven more runs; a file that ran in time is given this many times its limit for them.
JUDGING = 4.0


@dataclass(frozen=True)
class Result:
    """What there is to say of one file. `rung` and `rows` are there where it diverges, if they were asked for."""

    checked: Checked
    job: Job
    outcome: Outcome
    verdict: Verdict
    rung: Rung | None = None
    rows: tuple[Row, ...] = ()


class Checker:
    """`jobs` files at a time, each worker with processes of its own; a context manager.

    `ladder` and `ablation` say what is looked for where a file diverges.
    """

    def __init__(
        self,
        target: str = "inductor",
        timeout: float = 120.0,
        preload: Sequence[str] = (),
        jobs: int = 1,
        ladder: bool = True,
        ablation: bool = False,
    ) -> None:
        self.target, self.timeout, self.preload, self.jobs = target, timeout, tuple(preload), max(1, jobs)
        self.ladder, self.ablation = ladder, ablation
        self._stack = ExitStack()
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._local = threading.local()

    def __enter__(self) -> Checker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def check(self, named: Sequence[tuple[str, Checked]]) -> Iterator[Result]:
        """Results in the order of the files, each as soon as it and those before it are known. Raises
        EnvironmentProblem."""
        with ThreadPoolExecutor(self.jobs) as pool:
            waiting = [pool.submit(self.one, file, checked) for file, checked in named]
            try:
                for each in waiting:
                    yield each.result()
            finally:  # of all, usually; else an error or Ctrl-C, after which nobody waits for the rest
                self._stop.set()
                pool.shutdown(cancel_futures=True)
                self._stop.clear()

    def one(self, file: str, checked: Checked) -> Result:
        """One file to its end, in this thread."""
        job, outcome = self.run(checked, file)
        found = verdict(file, checked, outcome, self.timeout)
        result = Result(checked, job, outcome, found)
        if found.failure is None or not found.found:
            return result
        run, same = self._runner(job, outcome), Shows(found.failure)
        if self.ladder:
            rung = find_rung(run, job, same)
            result = replace(result, rung=rung, verdict=replace(found, rung=rung.name or None))
        if self.ablation and found.verdict != TIMEOUT:
            result = replace(result, rows=tuple(ablate(run, job, same)))
        return result

    def run(self, checked: Checked, id: str) -> tuple[Job, Outcome]:
        """The file's own job and its outcome."""
        job = checked.job(id, self.target, self.timeout)
        (outcome,) = self.execute([job])
        if outcome.status == "timeout" and outcome.stage == "judge":
            (outcome,) = self.execute([replace(job, timeout=JUDGING * self.timeout)])
        return job, outcome

    def execute(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Outcomes in the order of the jobs. Raises CancelledError where nobody waits for them any more."""
        executor, found = self.executor(), dict[str, Outcome]()
        executor.submit(jobs)
        while len(found) < len(jobs):
            if self._stop.is_set():
                raise CancelledError
            found.update((outcome.id, outcome) for outcome in executor.poll(1.0))
        return [found[job.id] for job in jobs]

    def executor(self) -> Executor:
        """This thread's; the first caller's is the first worker's too."""
        if not hasattr(self._local, "executor"):
            with self._lock:
                executor = self._stack.enter_context(Executor(preload=self.preload))
            executor.start(self.target)
            self._local.executor = executor
        return self._local.executor  # type: ignore[no-any-return]

    def _runner(self, job: Job, outcome: Outcome) -> Callable[[Sequence[Job]], list[Outcome]]:
        """Runs jobs, but for the one whose outcome is known."""

        def run(jobs: Sequence[Job]) -> list[Outcome]:
            known = {j.id for j in jobs if replace(j, id=job.id) == job}
            fresh = {o.id: o for o in self.execute([j for j in jobs if j.id not in known])}
            return [replace(outcome, id=j.id) if j.id in known else fresh[j.id] for j in jobs]

        return run
