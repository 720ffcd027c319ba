"""A harness process: started with two pipes, spoken to in frames, ended with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import EnvironmentProblem
from ..resources import environment
from .protocol import FrameReader, pack_frame


class HarnessProcess:
    """`python -m fuzzgraph.harness.<module>` in a session of its own, its standard streams in a log file."""

    def __init__(self, module: str, arguments: Sequence[str], folder: Path, python: str = sys.executable) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "log"
        child_in, self.write_fd = os.pipe()
        self.read_fd, child_out = os.pipe()
        os.set_blocking(self.read_fd, False)
        command = [
            python, "-m", f"fuzzgraph.harness.{module}", "--in", str(child_in), "--out", str(child_out), *arguments,
        ]  # fmt: skip
        with open(self.log, "wb") as log:
            self._popen = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(child_in, child_out),
                start_new_session=True, cwd=folder, env={**environment(), "PYTHONHASHSEED": "0"},
            )  # fmt: skip
        os.close(child_in)
        os.close(child_out)
        self.pid = self._popen.pid
        self.cpu = 0.0  # of the process and all that it waited for; set when it has ended
        self._reader = FrameReader()
        self._ended = False

    def send(self, message: dict[str, Any]) -> None:
        """Raises OSError where the process is gone."""
        view = memoryview(pack_frame(message))
        while view:
            view = view[os.write(self.write_fd, view) :]

    def receive(self) -> tuple[list[dict[str, Any]], bool]:
        """Messages that have arrived, and whether the process closed its end."""
        messages: list[dict[str, Any]] = []
        while True:
            try:
                data = os.read(self.read_fd, 1 << 20)
            except BlockingIOError:
                return messages, False
            if not data:
                return messages, True
            messages += self._reader.feed(data)

    def end(self, grace: float = 0.0) -> None:
        """Close the pipes, wait `grace` seconds, then kill the whole session. May be called twice."""
        if self._ended:
            return
        self._ended = True
        os.close(self.write_fd)
        os.close(self.read_fd)
        deadline = time.monotonic() + grace
        pid = 0
        while True:
            pid, _, used = os.wait4(self.pid, os.WNOHANG)
            if pid or time.monotonic() >= deadline:
                break
            time.sleep(0.005)
        kill_session(self.pid)
        if not pid:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            _, _, used = os.wait4(self.pid, 0)
        self._popen.returncode = 0  # collected here, so Popen must not try
        self.cpu = used.ru_utime + used.ru_stime

    def tail(self, lines: int = 3) -> str:
        """The last words of its log, on one line."""
        try:
            text = self.log.read_bytes()[-4000:].decode(errors="replace")
        except OSError:
            return ""
        return " | ".join(line.strip() for line in text.splitlines()[-lines:] if line.strip())

    def failure(self, what: str) -> EnvironmentProblem:
        return EnvironmentProblem(f"{what}: {self.tail() or 'it said nothing'}", where="harness")


def kill_session(session: int) -> None:
    """End every process of a session: children of a killed zygote, their g++, what programs forked."""
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
            if int(fields[3]) == session and int(name) != session:
                os.kill(int(name), signal.SIGKILL)
        except (OSError, ProcessLookupError):  # it ended by itself
            continue
