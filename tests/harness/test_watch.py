"""When the watchdog calls a program a hang, and when it is only starved."""

import os
import signal
import time

import pytest

from fuzzgraph.harness import limits
from fuzzgraph.harness.watch import IDLE, PATIENCE, STARVED, Limits, Watch


class Still:
    """A slot whose first program began some time ago."""

    def __init__(self, ago: float) -> None:
        self.ago = ago

    def head(self) -> tuple[int, str, float, float]:
        return 0, "subject", time.monotonic() - self.ago, 0.0


LIMIT = 10.0


@pytest.mark.parametrize(
    ("wall", "used", "waited", "cause"),
    [
        (2 * LIMIT, 0.0, 0.0, "timeout"),  # sleeps
        (2 * LIMIT, 0.0, IDLE * 4 * LIMIT, None),  # wants a core, gets none
        (2 * LIMIT, 0.5 * LIMIT, 0.0, None),  # slow
        (2 * LIMIT, 1.1 * LIMIT, 0.0, "timeout"),  # CPU time
        ((PATIENCE + 1) * LIMIT, 0.9 * LIMIT, 0.0, "timeout"),
        ((PATIENCE + 1) * LIMIT, 0.9 * LIMIT, 2 * LIMIT, None),
        ((STARVED + 1) * LIMIT, 0.9 * LIMIT, 20 * LIMIT, "timeout"),
        (0.5 * LIMIT, 0.0, 0.0, None),
    ],
)
def test_hang_or_starved(
    monkeypatch: pytest.MonkeyPatch, wall: float, used: float, waited: float, cause: str | None
) -> None:
    class Job:
        timeout = LIMIT

    watch = Watch(os.getpid(), Still(wall), [Job()], Limits(0), -1)  # type: ignore[arg-type, list-item]
    monkeypatch.setattr(limits, "cpu_seconds", lambda pid: used)
    monkeypatch.setattr(limits, "group_cpu_seconds", lambda pid: used)
    monkeypatch.setattr(limits, "group_waiting_seconds", lambda pid: waited)
    killed: list[str] = []
    monkeypatch.setattr(watch, "_kill", killed.append)
    watch._look()
    assert killed == ([] if cause is None else [cause])


def test_waiting_for_a_core_is_seen() -> None:
    core = min(os.sched_getaffinity(0))
    pids = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, pids[0] if pids else 0)
            os.sched_setaffinity(0, {core})
            while True:
                pass
        os.setpgid(pid, pids[0] if pids else pid)
        pids.append(pid)
    try:
        time.sleep(1.0)
        waited = limits.group_waiting_seconds(pids[0])
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    assert waited > 0.5  # three on one core: each waits two thirds of the time
