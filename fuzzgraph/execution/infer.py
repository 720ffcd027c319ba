"""Type inference by FakeTensor in a process of its own, since meta kernels can hang, die and leak."""

from __future__ import annotations

import select
import shutil
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgpack

from ..errors import EnvironmentProblem
from ..ir import wire
from ..ir.infer import Inferred
from ..ir.nested import has_code
from ..ir.types import SequenceType, TensorType
from ..ir.values import Values
from .process import HarnessProcess

# Importing torch takes 3 s on an idle core.
START_SECONDS = 120.0
# A FakeTensor call takes about a millisecond; what takes this long hangs.
REQUEST_SECONDS = 10.0
NESTED_SECONDS = 60.0
# About 1 kB each. Mutants of one corpus repeat most of their calls.
CACHED = 50_000

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


class InferClient:
    """`ir.infer.Inference` by a FakeTensor process that is restarted when it hangs or dies.

    Pure: equal arguments give equal results (a hang is an error like another, and is remembered). `mode="eager"`
    runs the operator on real tensors of these types, filled by `values` (by flat operand index, over args, then
    kwargs); its results are not cached. Starts the process at the first request; a context manager, or `close()`.
    """

    def __init__(self, timeout: float = REQUEST_SECONDS, cached: int = CACHED, python: str = sys.executable) -> None:
        self.timeout, self.cached, self.python = timeout, cached, python
        self.restarts = 0
        self.requests = 0  # calls that the process answered
        self._cache: OrderedDict[bytes, Inferred] = OrderedDict()
        self._process: HarnessProcess | None = None
        self._folder: Path | None = None
        self._past_cpu = 0.0
        self._live_cpu = 0.0
        self._serial = 0
        self._patterns: list[dict[str, Any]] | None = None

    def __enter__(self) -> InferClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def cpu(self) -> float:
        """CPU seconds of all its processes so far."""
        return self._past_cpu + self._live_cpu

    def infer(
        self,
        op: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        mode: str = "fake",
        values: Mapping[int, Values] | None = None,
    ) -> Inferred:
        """Types of `op` (dotted name relative to torch) on `args`, with Types in place of values."""
        item = _pack(op, args, kwargs, values)
        if mode == "eager":
            return self._ask(mode, [item])[0]
        return self._cached([item])[0]

    def infer_many(self, calls: Sequence[Call]) -> list[Inferred]:
        """As `infer` for each call, in one request for all that is not known yet."""
        return self._cached([_pack(op, args, kwargs, None) for op, args, kwargs in calls])

    def dispatched(
        self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any], values: Mapping[int, Values] | None = None
    ) -> frozenset[str]:
        """Overload packets ("aten.add") that a call on FakeTensors dispatches, backward included."""
        answer = self._request("dispatch", [_pack(op, args, kwargs, values)])
        return frozenset() if isinstance(answer, str) else frozenset(answer[0][2])

    def catalog(self) -> dict[str, Any]:
        """What the compiler knows, as `harness.catalog` says it. Raises EnvironmentProblem where it cannot be told."""
        hint = "pip install 'fuzzgraph[test]' has what torch's own tests import"
        return self._told("catalog", "the compiler's operators cannot be listed", hint)

    def patterns(self) -> list[dict[str, Any]]:
        """The patterns that the compiler looks for, as `harness.patterns` says them; asked for once. Raises
        EnvironmentProblem where they cannot be told."""
        if self._patterns is None:
            found = self._told("patterns", "the compiler's patterns cannot be listed", "")
            self._patterns = found["patterns"]
        return self._patterns

    def _told(self, mode: str, problem: str, hint: str) -> dict[str, Any]:
        """The one result of a request that imports the compiler."""
        patient, self.timeout = self.timeout, START_SECONDS
        try:
            answer = self._request(mode, [])
        finally:
            self.timeout = patient
        found: dict[str, Any] = {"error": answer} if isinstance(answer, str) else answer[0]
        if "error" in found:
            raise EnvironmentProblem(f"{problem}: {found['error']}", hint=hint)
        return found

    def close(self) -> None:
        """End the process. May be called twice; a later request starts a new one."""
        self._stop(grace=0.5)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _cached(self, items: list[Any]) -> list[Inferred]:
        keys: list[bytes] = [msgpack.packb(item) for item in items]
        missing = {k: item for k, item in zip(keys, items, strict=True) if k not in self._cache}
        fresh = dict(zip(missing, self._ask("fake", list(missing.values())), strict=True)) if missing else {}
        results = []
        for key in keys:
            if key in fresh:
                results.append(fresh[key])
            else:
                self._cache.move_to_end(key)
                results.append(self._cache[key])
        self._cache.update(fresh)
        while len(self._cache) > self.cached:
            self._cache.popitem(last=False)
        return results

    def _ask(self, mode: str, items: list[Any]) -> list[Inferred]:
        """Where a request of several fails, each is asked alone, so that only the guilty one has the error."""
        answer = self._request(mode, items)
        if isinstance(answer, str):
            if len(items) > 1:
                return [self._ask(mode, [item])[0] for item in items]
            return [Inferred(None, answer)]
        return [_unpack(result) for result in answer]

    def _request(self, mode: str, items: list[Any]) -> list[Any] | str:
        """The results, or why there are none."""
        process = self._process or self._start()
        self._serial += 1
        self.requests += len(items)
        try:
            process.send({"id": self._serial, "mode": mode, "items": items})
        except OSError:
            self._stop()
            return "Died: the inference process was gone"
        # The first operator that calls functions imports for some seconds.
        timeout = max(self.timeout, NESTED_SECONDS) if any(map(has_code, items)) else self.timeout
        reply = self._reply(process, timeout)
        if reply is None or isinstance(reply, str):
            self._stop()
            self.restarts += 1
            return reply or f"Timeout: no answer in {timeout:g} s"
        self._live_cpu = reply["cpu"]
        results: list[Any] = reply["results"]
        return results

    def _reply(self, process: HarnessProcess, timeout: float) -> dict[str, Any] | str | None:
        """The next message; None after the timeout, text where the process died."""
        deadline = time.monotonic() + timeout
        poller = select.poll()
        poller.register(process.read_fd, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not poller.poll(left * 1000):
                return None
            messages, ended = process.receive()
            if messages:
                return messages[-1]
            if ended:
                return "Died: the operator ended the process that ran it"

    def _start(self) -> HarnessProcess:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="fuzzgraph-infer-"))
        process = HarnessProcess("infer_server", [], self._folder, self.python)
        self._process = process
        reply = self._reply(process, START_SECONDS)
        if not isinstance(reply, dict):
            last_words = process.tail()
            self._stop()
            raise EnvironmentProblem(
                f"type inference does not start: {last_words or 'no answer in time'}", where="harness"
            )
        return process

    def _stop(self, grace: float = 0.0) -> None:
        if self._process is not None:
            self._process.end(grace)
            self._past_cpu += self._process.cpu
            self._live_cpu = 0.0
            self._process = None


def _pack(op: str, args: tuple[Any, ...], kwargs: dict[str, Any], values: Mapping[int, Values] | None) -> list[Any]:
    """A call as it crosses the pipe; alias roots are renamed in order, so that equal calls of other programs match."""
    names: dict[str, str] = {}
    plain = None if values is None else {i: [v.kind, list(v.params), v.seed] for i, v in values.items()}
    packed_args = wire.pack_value(tuple(_anonymous(a, names) for a in args))
    packed_kwargs = wire.pack_value({k: _anonymous(v, names) for k, v in kwargs.items()})
    return [op, packed_args, packed_kwargs, plain]


def _anonymous(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, TensorType):
        if value.alias is None:
            return value
        return value.with_(alias=names.setdefault(value.alias, f"a{len(names)}"))
    if isinstance(value, SequenceType):
        return SequenceType(value.kind, tuple(_anonymous(v, names) for v in value.items))
    if isinstance(value, tuple | list):
        return type(value)(_anonymous(v, names) for v in value)
    return value


def _unpack(result: list[Any]) -> Inferred:
    kind, error, alias_of, called = result
    on = tuple(tuple(wire.unpack_type(t) for t in types) for types in called)
    return Inferred(None if kind is None else wire.unpack_type(kind), error, tuple(alias_of), on)
