"""The zygote: imports torch once, forks a child per batch, watches it from outside.

`python -m fuzzgraph.harness.zygote --in FD --out FD --target NAME --scratch DIR [--preload FILE]... [--memory BYTES]`

It reads {"type": "batch", "jobs": [...]} and writes {"type": "ready" | "outcome" | "batch_done" | "failed"}; the end of
its input ends it. A target that does not survive a fork is spawned per batch; the zygote then imports no torch.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import FuzzgraphError
from ..execution.protocol import ErrorInfo, Job, Outcome, read_frame, write_frame
from . import limits, targets
from .slot import Slot
from .watch import Abandoned, Limits, Watch


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="zygote")
    parser.add_argument("--in", dest="source", type=int, required=True)
    parser.add_argument("--out", dest="sink", type=int, required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--memory", type=int, default=0)
    parser.add_argument("--no-observers", action="store_true")
    return parser.parse_args(argv)


class Zygote:
    """One process's worth of state; `serve()` returns at the end of input."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.target = targets.load(args.target)
        self.context: Any = None
        self.run_child: Any = None
        self.kept: set[Path] = set()
        self.held: list[Outcome] = []
        self.frontend: Any = None
        self.units: Any = None
        self.shares: dict[str, float] = {}  # CPU seconds of a unit, by the job that bears them
        self.cache = Path(args.scratch, "inductor")

    def start(self) -> dict[str, Any]:
        """Prepare, and say what can be run here: the `ready` message."""
        from . import prepare

        self.observe = not self.args.no_observers
        prepare.set_environment(self.target, self.args.scratch)
        limits.adopt_orphans()
        if self.target.SPAWN:
            return self._spawning()
        prepare.import_torch(self.observe)
        from . import child, frontend, units  # import torch

        self.run_child = child.run
        reason = self.target.available()
        if reason is not None:
            return unavailable(reason)
        prepare.preload(self.args.preload)
        self.target.prepare()
        self.context = prepare.make_context(self.args.memory)
        self.frontend = frontend.FrontEnd(self.context.hooks, Path(self.args.scratch, "frontend"))
        self.frontend.compiler.prepare()
        self.units = units.Units(self.context.hooks, Path(self.args.scratch, "units"))
        self.units.compiler.prepare()
        prepare.warm_up(self.observe, self.context.hooks)
        prepare.share_warm(self.args.scratch)
        self.kept = set(self.cache.rglob("*"))
        serves = [n for n in targets.names() if self._shares(targets.load(n))]
        return {
            "type": "ready", "unavailable": None, "serves": serves, "versions": self.context.versions,
            "notices": [*self.context.hooks.notices, *self._threads()],
        }  # fmt: skip

    def _spawning(self) -> dict[str, Any]:
        """For a target whose processes are spawned: ask one whether it can run."""
        from . import spawned

        answer = spawned.ask(self.args)
        return {"type": "ready", "serves": [self.args.target], **answer}

    def _shares(self, other: Any) -> bool:
        """Whether programs of another target can run in this process."""
        return not other.SPAWN and other.ENVIRONMENT == self.target.ENVIRONMENT and other.available() is None

    def _threads(self) -> list[str]:
        names = [Path(p, "comm").read_text().strip() for p in Path("/proc/self/task").iterdir()]
        return [f"the zygote has {len(names)} threads ({', '.join(names)}), forks may hang"] if len(names) > 1 else []

    def serve(self) -> None:
        while True:
            message = read_frame(self.args.source)
            if message is None:
                return
            if message["type"] == "batch":
                self._batch([Job.from_data(j) for j in message["jobs"]])
            elif message["type"] == "baseline":
                from . import observers

                self._send({"type": "baseline", "features": observers.baseline()})

    def _batch(self, jobs: list[Job]) -> None:
        """Run all; after a death the rest goes on in another child. A child that dies before its first program
        starts is tried once more."""
        failed_before = False
        self._compile(jobs)
        while jobs:
            done = self._one_child(jobs[:1] if jobs[0].kernels else jobs)
            if done == 0 and failed_before:
                error = ErrorInfo("HarnessFault", "the child ended before the program started")
                self._emit(Outcome(jobs[0].id, "lost", "harness", error=error))
                done = 1
            failed_before = done == 0
            jobs = jobs[done:]
        held, self.held = self.held, []
        for outcome in self.frontend.check(held) if held else []:
            self._send({"type": "outcome", "outcome": outcome.to_data()})
        if self.context is not None and self.context.unit is not None:
            self.context.unit.path.unlink(missing_ok=True)
            self.context.unit = None
        self._prune()
        self._send({"type": "batch_done", "cpu": limits.own_cpu()})

    def _compile(self, jobs: list[Job]) -> None:
        """Compile the kernels that jobs came with, together; each such job bears its part of the cost."""
        served = [job for job in jobs if job.kernels]
        if not served or self.units is None:
            return
        before = limits.children_cpu()
        self.context.unit = self.units.build([(kinds, source) for job in served for kinds, source in job.kernels])
        self.shares = dict.fromkeys((job.id for job in served), (limits.children_cpu() - before) / len(served))

    def _one_child(self, jobs: list[Job]) -> int:
        """How many of the jobs have an outcome now."""
        slot = Slot()
        try:
            pid = self._spawn(slot, jobs) if self.target.SPAWN else self._fork(slot, jobs)
            slot.close_child_ends()
            watch = Watch(pid, slot, jobs, Limits(self.args.memory), self.args.source)
            watch.run(self._emit, abandoned=lambda: _at_end(self.args.source))
            return watch.done
        finally:
            slot.close()

    def _fork(self, slot: Slot, jobs: list[Job]) -> int:
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            self.run_child(slot, jobs, self.context, close=(self.args.source, self.args.sink))
        try:
            os.setpgid(pid, pid)
        except OSError:  # the child did it, or is gone already
            pass
        return pid

    def _spawn(self, slot: Slot, jobs: list[Job]) -> int:
        from . import spawned

        return spawned.launch(self.args, slot, jobs)

    def _prune(self) -> None:
        """Kernels' libraries pile up; what the warm-up made stays."""
        triton = Path(self.args.scratch, "triton")
        for path in [p for folder in (self.cache, triton) if folder.is_dir() for p in folder.iterdir()]:
            if path not in self.kept:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
            elif path.is_dir():
                for inner in path.rglob("*"):
                    if inner not in self.kept and not inner.is_dir():
                        inner.unlink(missing_ok=True)

    def _emit(self, outcome: Outcome) -> None:
        """Send an outcome; one with kernels waits for the batch's end, when all kernels are looked at together."""
        share = self.shares.pop(outcome.id, 0.0)
        if share:
            outcome = replace(outcome, cpu=outcome.cpu + share, cpu_below=outcome.cpu_below + share)
        if outcome.kernels:
            self.held.append(outcome)
            return
        self._send({"type": "outcome", "outcome": outcome.to_data()})

    def _send(self, message: dict[str, Any]) -> None:
        write_frame(self.args.sink, message)


def unavailable(reason: str) -> dict[str, Any]:
    """The `ready` message of a zygote that has nothing to do."""
    return {"type": "ready", "unavailable": reason, "serves": [], "versions": {}, "notices": []}


def _at_end(fd: int) -> bool:
    """Whether the engine closed its end (a waiting message is no end)."""
    import select

    probe = select.poll()
    probe.register(fd, select.POLLIN)
    return any(event & (select.POLLHUP | select.POLLERR) and not event & select.POLLIN for _, event in probe.poll(0))


def main(argv: list[str]) -> None:
    """Never returns: nothing of torch's needs an orderly exit."""
    args = parse(argv)
    for number in (signal.SIGINT, signal.SIGTERM):  # a terminal's Ctrl-C is for the engine, which then closes the pipe
        signal.signal(number, signal.SIG_IGN)
    for fd in (args.source, args.sink):
        os.set_inheritable(fd, False)
    zygote = None
    try:
        if args.target in targets.names():
            zygote = Zygote(args)
            ready = zygote.start()
        else:
            known = ", ".join(targets.names())
            ready = unavailable(f"there is no target {args.target!r} (there are: {known})")
    except BaseException as e:
        text = str(e) if isinstance(e, FuzzgraphError) else f"{type(e).__name__}: {e}"
        traceback.print_exc()
        write_frame(args.sink, {"type": "failed", "message": text})
        sys.stderr.flush()
        os._exit(3)
    try:
        write_frame(args.sink, {**ready, "cpu": limits.own_cpu()})
        if zygote is not None:
            zygote.serve()
    except (Abandoned, BrokenPipeError):  # the engine was killed: nobody else will clean up
        pass
    shutil.rmtree(args.scratch, ignore_errors=True)
    try:
        os.rmdir(Path(args.scratch).parent)  # the executor's own, if it is gone and no other zygote is left
    except OSError:
        pass
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
