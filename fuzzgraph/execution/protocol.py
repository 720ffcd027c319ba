"""Messages between the engine and its harness processes: msgpack maps, each after a 4-byte little-endian length.

Light on purpose: a process that only watches others imports this and nothing of torch.
"""

from __future__ import annotations

import os
import struct
from dataclasses import asdict, dataclass, field
from typing import Any

import msgpack

from ..oracles._failure import Failure

__all__ = [
    "STATUSES", "TIERS", "ErrorInfo", "Failure", "FrameReader", "Job", "Outcome", "pack_frame", "read_frame",
    "write_frame",
]  # fmt: skip

TIERS = ("cover", "compare", "bisect", "nodes")
STATUSES = ("ok", "invalid", "unstable", "failure", "timeout", "signal", "exit", "memory", "lost")
DEATHS = ("timeout", "signal", "exit", "memory")

# No honest message comes near: a full line set is about 100 kB, a program's captured output at most OUTPUT_LIMIT.
MAX_FRAME = 256 << 20
# What is kept of a program's stdout and stderr: enough for a traceback and g++'s first errors.
OUTPUT_LIMIT = 16_000


@dataclass(frozen=True)
class Job:
    """One program to execute.

    `options` has the keys of RunOptions (dynamic, fullgraph, grad, autocast, inference, mode, config); config
    maps "inductor.x.y", "dynamo.z" or "functorch.w" to values. `plans` maps each oracle to run to its plan; empty
    means all oracles, each with an empty plan. `timeout` is in seconds, of wall time and of CPU time.
    `coverage`: "" off, "novel" lines that neither import nor warm-up nor an earlier program of this child has hit
    (3 % of the Python time; exact but for the baseline where the batch is 1), "full" every line (55 %).
    `expects_error`: the reference may raise, and the subject must then raise too.
    `kernels`, for the tier compare: those that the tier cover found (argument types, C++ source). The zygote compiles
    them with those of the other jobs of the batch; each such job has a child of its own.
    `search`, for the tiers bisect and nodes: {"limit": seconds of one trial}, and for bisect
    {"wanted": [[oracle, kind, exception type or ""], ...]}.
    """

    id: str
    source: str
    target: str = "inductor"
    tier: str = "compare"
    options: dict[str, Any] = field(default_factory=dict)
    plans: dict[str, Any] = field(default_factory=dict)
    timeout: float = 60.0
    coverage: str = ""
    expects_error: bool = False
    search: dict[str, Any] = field(default_factory=dict)
    kernels: tuple[Any, ...] = ()

    def to_data(self) -> dict[str, Any]:
        return {**asdict(self), "options": _plain(self.options), "plans": _plain(self.plans)}

    @staticmethod
    def from_data(data: dict[str, Any]) -> Job:
        return Job(**{**data, "kernels": tuple(data["kernels"])})


@dataclass(frozen=True)
class ErrorInfo:
    """Why an execution is not ok: an exception, or how the process died (`type` SIGSEGV, Exit, Timeout, Memory)."""

    type: str
    message: str
    frames: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    traceback: str = ""

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_data(data: dict[str, Any]) -> ErrorInfo:
        frames, causes = tuple(data["frames"]), tuple(data["causes"])
        return ErrorInfo(data["type"], data["message"], frames, causes, data["traceback"])


@dataclass(frozen=True)
class Outcome:
    """What became of one job.

    `stage` is how far it came: "load" (the source did not execute), "reference", "subject" (death of the process while
    it compiled or ran), a stage of the compiler (dynamo, aot, inductor, cpp, run), "judge", or "done"; "harness"
    for a job that is lost. A death in the reference says nothing of the compiler: `failures` is empty. `code` is
    the signal's number or the exit status. `cpu` is CPU seconds, `cpu_below` the part of it that was spent in processes
    that this one waited for (the C++ compiler). `features` maps a key space to what its observer recorded: "line" ->
    {file: [lines]}, "counter" -> [names]. `position` counts the programs that the same child ran before.
    `missed`: the reference raised as the job expects, and it was asked whether the subject raises too.
    `notes` is what oracles have to say that is no failure.
    `kernels` are those of a program of the cover tier: argument types and C++ source of each. The zygote holds them
    against the compiler's front end.
    """

    id: str
    status: str
    stage: str = "done"
    failures: tuple[Failure, ...] = ()
    error: ErrorInfo | None = None
    features: dict[str, Any] = field(default_factory=dict)
    cpu: float = 0.0
    wall: float = 0.0
    output: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    code: int | None = None
    position: int = 0
    cpu_below: float = 0.0
    kernels: tuple[Any, ...] = ()
    missed: bool = False
    notes: tuple[str, ...] = ()
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def lines(self) -> dict[str, list[int]]:
        """Lines hit, by file relative to torch."""
        lines: dict[str, list[int]] = self.features.get("line", {})
        return lines

    @property
    def valid(self) -> bool:
        """Whether the reference ran to its end."""
        return self.status not in ("invalid", "lost") and self.stage not in ("load", "reference", "harness")

    def to_data(self) -> dict[str, Any]:
        data = {k: getattr(self, k) for k in self.__dataclass_fields__}
        data["failures"] = [f.to_data() for f in self.failures]
        data["error"] = self.error.to_data() if self.error else None
        return data

    @staticmethod
    def from_data(data: dict[str, Any]) -> Outcome:
        failures = tuple(Failure.from_data(f) for f in data["failures"])
        error = ErrorInfo.from_data(data["error"]) if data["error"] else None
        tuples = {name: tuple(data[name]) for name in ("kernels", "notes")}
        return Outcome(**{**data, **tuples, "failures": failures, "error": error})


def _plain(value: Any) -> Any:
    """Tuples as lists and unknown objects as text, so that options of any origin can cross."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    return str(value)


def pack_frame(message: dict[str, Any]) -> bytes:
    """The message with its length in front."""
    body: bytes = msgpack.packb(message, unicode_errors="replace")
    return struct.pack("<I", len(body)) + body


def unpack_body(body: bytes) -> dict[str, Any]:
    message: dict[str, Any] = msgpack.unpackb(body, strict_map_key=False, unicode_errors="replace")
    return message


def write_frame(fd: int, message: dict[str, Any]) -> None:
    """Write all of a message. Raises OSError where the other end is gone."""
    view = memoryview(pack_frame(message))
    while view:
        view = view[os.write(fd, view) :]


class FrameReader:
    """Cuts a byte stream into messages; what is cut off at its end is dropped."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Messages that are complete now. Raises ValueError on a length that no honest writer sends."""
        self._buffer += data
        messages = []
        while len(self._buffer) >= 4:
            (size,) = struct.unpack_from("<I", self._buffer)
            if size > MAX_FRAME:
                raise ValueError(f"frame of {size} bytes")
            if len(self._buffer) < 4 + size:
                break
            messages.append(unpack_body(bytes(self._buffer[4 : 4 + size])))
            del self._buffer[: 4 + size]
        return messages


def read_frame(fd: int) -> dict[str, Any] | None:
    """The next message, waiting for it; None at the end of the stream."""
    head = _read_exactly(fd, 4)
    if head is None:
        return None
    body = _read_exactly(fd, struct.unpack("<I", head)[0])
    return None if body is None else unpack_body(body)


def _read_exactly(fd: int, count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        data = os.read(fd, min(count - len(parts), 1 << 20))
        if not data:
            return None
        parts += data
    return bytes(parts)
