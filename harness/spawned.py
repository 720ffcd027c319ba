"""A child that is spawned, not forked: for targets whose device does not survive a fork.

`python -m fuzzgraph.harness.spawned --fds PAGE,FRAMES,OUTPUT,STACK,JOBS ...` runs one batch in the slot of those
descriptors; with `--ask FD` it says on FD whether the target can run here.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from typing import Any

from ..execution.protocol import Job, read_frame, write_frame
from . import targets
from .slot import Slot


def ask(zygote: argparse.Namespace) -> dict[str, Any]:
    """Whether the target can run here (`unavailable`: why not), with versions and notices."""
    reader, writer = os.pipe()
    process = _start(zygote, ["--ask", str(writer)], [writer], group=0)
    os.close(writer)
    answer = read_frame(reader)
    os.close(reader)
    status = process.wait()
    if answer is None:
        raise RuntimeError(f"a process for target {zygote.target} ended with status {status}")
    return answer


def launch(zygote: argparse.Namespace, slot: Slot, jobs: list[Job]) -> int:
    """Start a process for the jobs; its id, for the watchdog, which also waits for it."""
    jobs_fd = os.memfd_create("fuzzgraph-jobs")
    write_frame(jobs_fd, {"jobs": [job.to_data() for job in jobs]})
    os.lseek(jobs_fd, 0, os.SEEK_SET)
    fds = [*slot.fds(), jobs_fd]
    process = _start(zygote, ["--fds", ",".join(map(str, fds))], fds, group=0)
    os.close(jobs_fd)
    process.returncode = 0  # the watchdog waits for it
    return process.pid


def _start(zygote: argparse.Namespace, extra: list[str], fds: list[int], group: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "fuzzgraph.harness.spawned", *extra, "--target", zygote.target]
    command += ["--scratch", zygote.scratch, "--memory", str(zygote.memory)]
    for file in zygote.preload:
        command += ["--preload", file]
    return subprocess.Popen(command, pass_fds=fds, stdin=subprocess.DEVNULL, process_group=group)


def main(argv: list[str]) -> None:
    """Never returns."""
    parser = argparse.ArgumentParser(prog="spawned")
    parser.add_argument("--fds", default="")
    parser.add_argument("--ask", type=int)
    parser.add_argument("--target", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--memory", type=int, default=0)
    args = parser.parse_args(argv)
    from . import prepare

    target = targets.load(args.target)
    prepare.set_environment(target, args.scratch)
    prepare.import_torch(observe=False)
    reason = target.available()
    if args.ask is not None:
        from . import hooks

        notices = hooks.probe().notices if reason is None else []
        write_frame(args.ask, {"unavailable": reason, "versions": prepare.versions(), "notices": notices})
        os._exit(0)
    prepare.preload(args.preload)
    target.prepare()
    *slot_fds, jobs_fd = map(int, args.fds.split(","))
    message = read_frame(jobs_fd)
    os.close(jobs_fd)
    assert message is not None
    from . import child

    child.run(Slot(slot_fds), [Job.from_data(j) for j in message["jobs"]], prepare.make_context(args.memory))


if __name__ == "__main__":
    main(sys.argv[1:])
