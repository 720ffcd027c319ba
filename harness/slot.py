"""What a child and its watchdog share: a page of memory, a pipe for outcomes, files for output and stack dumps.

The page says which program runs and how far it is, so that whoever kills the child knows whom to charge.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import resource
import struct
import time

from ..execution.protocol import FrameReader, pack_frame, unpack_body

PHASES = ("start", "load", "reference", "subject", "judge", "done")

# Where the last outcome is left if the program closed or replaced the pipe.
_HEAD = struct.Struct("<iidd")
_REPLY = 4096
_SIZE = _REPLY + (8 << 20)
# Above what programs that count file descriptors upwards from 3 reach.
_FRAME_FD = 240


class Slot:
    """One child's channel. Made by the watchdog; `adopt()` is called in the child."""

    def __init__(self, fds: list[int] | None = None) -> None:
        """A new slot, or with `fds` (from `fds()` of another process) the same slot in a spawned child."""
        if fds is None:
            self.page_fd = os.memfd_create("fuzzgraph-slot")
            os.ftruncate(self.page_fd, _SIZE)
            self.read_fd, self.frame_fd = os.pipe()
            os.set_blocking(self.read_fd, False)
            self.output_fd = os.memfd_create("fuzzgraph-output")
            self.stack_fd = os.memfd_create("fuzzgraph-stack")
            fcntl.fcntl(self.output_fd, fcntl.F_SETFL, os.O_APPEND)
        else:
            self.read_fd = -1
            self.page_fd, self.frame_fd, self.output_fd, self.stack_fd = fds
        self._page = mmap.mmap(self.page_fd, _SIZE)
        self._reader = FrameReader()
        self._identity: tuple[int, int] | None = None
        if fds is None:
            self._write_head(-1, "start")

    def fds(self) -> list[int]:
        """What a spawned child needs."""
        return [self.page_fd, self.frame_fd, self.output_fd, self.stack_fd]

    # Child half.

    def adopt(self, close: tuple[int, ...] = ()) -> None:
        """Make this process the child: standard streams go to the output file, the pipe moves out of reach."""
        for fd in (self.read_fd, *close):
            if fd >= 0:
                os.close(fd)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(self.output_fd, 1)
        os.dup2(self.output_fd, 2)
        private = fcntl.fcntl(self.frame_fd, fcntl.F_DUPFD_CLOEXEC, _FRAME_FD)
        os.close(self.frame_fd)
        self.frame_fd = private
        stat = os.fstat(private)
        self._identity = (stat.st_dev, stat.st_ino)

    def begin(self, index: int) -> None:
        """Program number `index` of the batch starts now: its clock runs, the output of the one before is dropped."""
        try:
            os.ftruncate(self.output_fd, 0)
        except OSError:  # the program before closed it; what comes is then not captured
            pass
        self._write_head(index, "load")

    def enter(self, phase: str) -> None:
        struct.pack_into("<i", self._page, 4, PHASES.index(phase))

    def send(self, message: dict[str, object]) -> bool:
        """Send an outcome. False where the program took the pipe away: the outcome then lies in the page and the
        child must end now."""
        try:
            stat = os.fstat(self.frame_fd)
            if (stat.st_dev, stat.st_ino) == self._identity:
                view = memoryview(pack_frame(message))
                while view:
                    view = view[os.write(self.frame_fd, view) :]
                return True
        except OSError:  # closed: the page is what it is for
            pass
        body = pack_frame(message)[4:]
        if len(body) < _SIZE - _REPLY - 8:
            self._page[_REPLY + 8 : _REPLY + 8 + len(body)] = body
            struct.pack_into("<q", self._page, _REPLY, len(body))
        return False

    # Watchdog half.

    def close_child_ends(self) -> None:
        os.close(self.frame_fd)
        self.frame_fd = -1

    def head(self) -> tuple[int, str, float, float]:
        """(index of the program or -1, phase, monotonic time and CPU seconds of the child at its start)."""
        index, phase, wall, cpu = _HEAD.unpack_from(self._page)
        known = PHASES[phase] if 0 <= phase < len(PHASES) else "start"
        return index, known, wall, cpu

    def receive(self) -> list[dict[str, object]]:
        """Outcomes that have arrived."""
        messages: list[dict[str, object]] = []
        while True:
            try:
                data = os.read(self.read_fd, 1 << 20)
            except BlockingIOError:
                return messages
            if not data:
                return messages
            messages += self._reader.feed(data)

    def left_reply(self) -> dict[str, object] | None:
        """The outcome left in the page, once."""
        (size,) = struct.unpack_from("<q", self._page, _REPLY)
        if not 0 < size < _SIZE - _REPLY - 8:
            return None
        struct.pack_into("<q", self._page, _REPLY, 0)
        return unpack_body(bytes(self._page[_REPLY + 8 : _REPLY + 8 + size]))

    def output(self, limit: int) -> str:
        return _tail(self.output_fd, limit)

    def stack(self) -> str:
        """Python stack that the fault handler wrote as the child died, or was asked to."""
        return _tail(self.stack_fd, 16_000)

    def close(self) -> None:
        for fd in (self.page_fd, self.read_fd, self.frame_fd, self.output_fd, self.stack_fd):
            if fd >= 0:
                os.close(fd)
        self._page.close()

    def _write_head(self, index: int, phase: str) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = sum(u.ru_utime + u.ru_stime for u in used)
        _HEAD.pack_into(self._page, 0, index, PHASES.index(phase), time.monotonic(), cpu)


def _tail(fd: int, limit: int) -> str:
    """The start and the end of a file, `limit` bytes in all."""
    try:
        size = os.fstat(fd).st_size
        if size <= limit:
            return os.pread(fd, limit, 0).decode(errors="replace")
        half = limit // 2
        head, tail = os.pread(fd, half, 0), os.pread(fd, half, size - half)
    except OSError:  # the program closed it
        return ""
    return f"{head.decode(errors='replace')}\n[... {size - limit} bytes left out ...]\n{tail.decode(errors='replace')}"
