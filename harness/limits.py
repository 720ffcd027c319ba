"""What a child may use, and how its own end is told: resource limits, fault handler, process group."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal

# Signal that makes a child write its Python stack before it is killed for its time.
STACK_SIGNAL = signal.SIGUSR2
# No file that a compile writes comes near (the largest, a precompiled header, is made before: about 200 MB), and a
# program that prints for ever stops here. Its output is a memory file, so this bounds memory as well.
FILE_BYTES = 512 << 20

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    """Linux only; elsewhere orphans of killed programs stay until they end by themselves."""
    try:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (OSError, AttributeError):
        return


def adopt_orphans() -> None:
    """Grandchildren that a dead child leaves behind become children of this process, which can end them."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def data_bytes(pid: int | str = "self") -> int:
    """Private writable memory of a process in bytes: what RLIMIT_DATA counts. 0 where /proc is absent."""
    return _status_kb(pid, "VmData")


def rss_bytes(pid: int | str = "self") -> int:
    return _status_kb(pid, "VmRSS")


def _status_kb(pid: int | str, key: str) -> int:
    try:
        with open(f"/proc/{pid}/status") as f:
            for line in f:
                if line.startswith(key + ":"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError):  # it just ended, or there is no /proc
        return 0
    return 0


def confine(memory: int, stack_fd: int) -> None:
    """Called in a child before its first program.

    RLIMIT_DATA, not RLIMIT_AS: torch's CUDA build maps more than 10 GB of address space before it does anything.
    A refused allocation is an exception that says so; what gets past (shared mappings) the watchdog sees as RSS.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_FSIZE, FILE_BYTES)
    base = data_bytes()
    if base and memory:
        _lower(resource.RLIMIT_DATA, base + memory)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    faulthandler.enable(file=stack_fd, all_threads=False)
    faulthandler.register(STACK_SIGNAL, file=stack_fd, all_threads=False)


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard == resource.RLIM_INFINITY or hard > value:
        resource.setrlimit(which, (value, value))


def cpu_seconds(pid: int) -> float:
    """CPU time of a live process and its reaped children; 0.0 once it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # Fields 14-17 of proc(5): utime, stime, cutime, cstime; the list here starts with field 3.
    return sum(int(x) for x in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def group_cpu_seconds(group: int) -> float:
    """CPU time of all live processes of a process group. Reads all of /proc: for rare questions."""
    total = 0.0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.getpgid(int(name)) == group:
                    total += cpu_seconds(int(name))
            except ProcessLookupError:  # it just ended
                continue
    return total


def group_waiting_seconds(group: int) -> float:
    """How long the live processes of a process group were ready to run and got no core; 0.0 where the kernel does not
    count it. Reads all of /proc: for rare questions."""
    total = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.getpgid(int(name)) == group:
                with open(f"/proc/{name}/schedstat") as f:
                    total += int(f.read().split()[1])  # nanoseconds on a run queue (the kernel's sched-stats.rst)
        except (OSError, IndexError):  # it just ended; or no such file here
            continue
    return total / 1e9


def own_cpu() -> float:
    """CPU time of this process and its reaped children."""
    used = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in used)


def children_cpu() -> float:
    """CPU time of this process's reaped children alone."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def kill_group(pid: int) -> None:
    """End a child and all that shares its process group: its g++, what it forked."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def reap_orphans() -> int:
    """Kill and collect every child that this process still has; returns how many there were."""
    count = 0
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:  # the usual case: no children at all
            return count
        if pid:
            count += 1
            continue
        for orphan in _children():
            try:
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, 0)
                count += 1
            except (ProcessLookupError, ChildProcessError):
                continue


def _children() -> list[int]:
    """Children of this process by a walk over /proc: not every kernel has the `children` file."""
    me, found = os.getpid(), []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{int(name)}/stat") as f:
                parent = int(f.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError):  # no process, or one that just ended
            continue
        if parent == me:
            found.append(int(name))
    return found
