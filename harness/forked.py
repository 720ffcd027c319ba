"""One function in a fork of this child, so that whatever it does to the process is an answer of its own."""

from __future__ import annotations

import os
import select
import signal
import traceback
from collections.abc import Callable
from typing import Any

from ..execution.protocol import read_frame, write_frame

TIMEOUT, EXIT = "timeout", "exit"


def call(function: Callable[[], dict[str, Any]], limit: float) -> dict[str, Any] | str:
    """What it returns, which must be msgpack's kind of data; or how the fork died: "timeout" (after `limit` seconds), a
    signal's name, "exit"."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _child(function, writer)
    os.close(writer)
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    late = not poll.poll(1000 * limit)
    if late:
        os.kill(pid, signal.SIGKILL)  # what it started goes with the job's process group
    message = None if late else read_frame(reader)
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    if message is not None:
        return message
    if late:
        return TIMEOUT
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else EXIT


def _child(function: Callable[[], dict[str, Any]], writer: int) -> None:
    try:
        write_frame(writer, function())
    except BaseException:  # ours, or a program's SystemExit: no answer
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
