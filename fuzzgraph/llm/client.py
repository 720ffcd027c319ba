"""The thread that talks to the server: requests in, answers out, and the caller never waits."""

from __future__ import annotations

import asyncio
import base64
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .budget import NOTHING, OVERHEAD, Budget, Usage, estimate, judge_usage
from .config import LLMConfig
from .reply import MAX_BODY, BadReply, read_body, retry_after
from .scrub import LogScrubber

# Characters of an error text that are kept.
MAX_ERROR = 2000

# Worth another try of the same request; other 4xx say that the request or the key is wrong.
TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}

Message = dict[str, str]


@dataclass(frozen=True)
class Job:
    """A request: the entry that it is about, and its messages."""

    parent: str
    messages: tuple[Message, ...]

    @property
    def text(self) -> str:
        return "\n".join(m["content"] for m in self.messages)


@dataclass(frozen=True)
class Answer:
    """What became of one try of a request. All texts are scrubbed.

    `problem` is None for a reply, else the reason that is counted: `timeout`, `unreachable`, `connection
    lost`, `http 500`, `invalid JSON`, ... `exposed`: the server's reply held (part of) the key.
    """

    job: Job
    problem: str | None
    text: str = ""
    finish: str = ""
    usage: Usage = NOTHING
    seconds: float = 0.0
    exposed: bool = False


@dataclass(frozen=True)
class _Result:
    """What one try came to, unscrubbed: `text` is the reply's, or describes the problem."""

    problem: str | None
    text: str = ""
    finish: str = ""
    again: bool = False  # worth another try
    sent: bool = True  # may have reached the server
    pause: float = 0.0  # seconds that the server asks for
    cost: Usage = NOTHING


class Courier:
    """Sends jobs from a thread of its own and hands each answer to `deliver`, called in that thread.

    The thread starts with the first job. `submit` never blocks. No request starts once `budget` is spent.
    After a failure all requests pause, twice as long after each further one, or as long as the server asks
    for.
    """

    def __init__(self, config: LLMConfig, budget: Budget, deliver: Callable[[Answer], None]) -> None:
        self._config, self._budget, self._deliver = config, budget, deliver
        self._scrub = config.scrubber()
        self._lock = threading.Lock()
        self._waiting = 0  # jobs accepted and not yet taken up
        self._closed = False
        self._loop: _Loop | None = None
        self._thread: threading.Thread | None = None
        self._main: asyncio.Task[None] | None = None
        self._jobs: asyncio.Queue[Job]
        # Of the thread alone from here on.
        self._limit_name = "max_tokens"
        self._failures = 0
        self._not_before = 0.0
        self.trouble = ""  # why the thread ended by itself, or the last failure; empty while all is well

    def submit(self, job: Job) -> bool:
        """Accept a job, or return False: the queue is full, or the courier closed."""
        with self._lock:
            if self._closed or self._waiting >= self._config.queue:
                return False
            self._waiting += 1
            if self._loop is None:
                self._loop = _Loop()
                self._jobs = asyncio.Queue()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="llm", daemon=True)
                self._thread.start()
            self._loop.call_soon_threadsafe(self._jobs.put_nowait, job)
        return True

    def close(self, patience: float = 0.8) -> None:
        """Abandon what is in flight and return within `patience` seconds. Idempotent."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            if loop is None or thread is None or loop.is_closed():
                return
            loop.call_soon_threadsafe(self._stop)
        # A daemon thread: if it is stuck (a stalled import, say), it ends with the process.
        thread.join(patience)

    def _stop(self) -> None:
        if self._main is not None:
            self._main.cancel()

    def _run(self, loop: _Loop) -> None:
        asyncio.set_event_loop(loop)
        try:
            self._main = loop.create_task(self._serve())
            loop.run_until_complete(self._main)
        except asyncio.CancelledError:
            pass  # closed
        except Exception as error:
            # A campaign goes on without its LLM: what went wrong is in the statistics.
            self.trouble = self._scrub.scrub(f"{type(error).__name__}: {error}")[:MAX_ERROR]
        finally:
            with self._lock:
                self._closed = True
                loop.close()

    async def _serve(self) -> None:
        client, hush = self._client(), LogScrubber(self._scrub)
        hush.install()
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(self._config.max_concurrent):
                    workers.create_task(self._work(client))
        finally:
            hush.remove()
            # Not awaited for long: closing TLS connections waits for the other side.
            try:
                async with asyncio.timeout(0.2):
                    await client.close()
            except TimeoutError:
                pass  # abandoned

    def _client(self) -> Any:
        import openai  # takes most of a second: here it is the thread's

        config = self._config
        headers = {}
        auth = config.basic_auth()
        if auth:
            headers["Authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
        return openai.AsyncOpenAI(
            api_key=config.api_key.reveal() or "none",
            base_url=config.request_url(),
            timeout=config.timeout,
            max_retries=0,
            default_headers=headers,
            default_query=config.request_query(),
        )

    async def _work(self, client: Any) -> None:
        while True:
            job = await self._jobs.get()
            with self._lock:
                self._waiting -= 1
            for _ in range(self._config.attempts):
                while (wait := self._not_before - time.monotonic()) > 0:
                    await asyncio.sleep(wait)
                prompt = estimate(job.text) + OVERHEAD
                allowance = self._budget.reserve(prompt, self._config.reply_tokens)
                if allowance is None:
                    self._deliver(Answer(job, "over budget"))
                    break
                if not await self._try(client, job, prompt, allowance):
                    break

    async def _try(self, client: Any, job: Job, prompt: int, allowance: int) -> bool:
        """Send a request that has its tokens reserved; deliver its answer. True: worth another try."""
        start = time.monotonic()
        try:
            result = await self._ask(client, job, prompt, allowance)
        except asyncio.CancelledError:
            self._settle(job, _Result("closed", cost=Usage(prompt, allowance, True)), prompt + allowance, start)
            raise
        self._settle(job, result, prompt + allowance, start)
        return result.again

    async def _ask(self, client: Any, job: Job, prompt: int, allowance: int) -> _Result:
        # What a request costs unless known better: the server may have done all the work.
        worst = Usage(prompt, allowance, True)
        try:
            async with asyncio.timeout(self._config.timeout):
                reply = read_body(await self._fetch(client, job, allowance))
        except BadReply as error:
            return _Result(str(error), cost=worst)
        except Exception as error:
            reason, again, sent = _classify(error)
            detail = _describe(error)
            if not reason.startswith("http "):
                return _Result(reason, detail, again=again, sent=sent, cost=worst if sent else NOTHING)
            headers = error.response.headers  # type: ignore[attr-defined]
            pause = retry_after(headers.get("retry-after"), time.time(), self._config.max_backoff)
            return _Result(reason, detail, again=self._adapt(reason, detail) or again, pause=pause, cost=NOTHING)
        return _Result(None, reply.text, reply.finish, cost=judge_usage(reply.usage, job.text, reply.text, allowance))

    def _settle(self, job: Job, result: _Result, reserved: int, start: float) -> None:
        self._budget.settle(reserved, result.cost.total, result.sent)
        self._note(result.problem, result.pause)
        text = result.text if result.problem is None else result.text[:MAX_ERROR]
        scrubbed = self._scrub.scrub(text)
        exposed = result.problem is None and scrubbed != text
        finish = self._scrub.scrub(result.finish[:40])
        seconds = time.monotonic() - start
        self._deliver(Answer(job, result.problem, scrubbed, finish, result.cost, seconds, exposed))

    async def _fetch(self, client: Any, job: Job, allowance: int) -> bytes:
        """The body of a successful response, as bytes and within a bound: a server may send anything."""
        body = bytearray()
        request = client.chat.completions.with_streaming_response.create(
            model=self._config.model, messages=list(job.messages), **{self._limit_name: allowance}
        )
        async with request as response:
            async for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_BODY:
                    raise BadReply("too long")
        return bytes(body)

    def _adapt(self, problem: str, detail: str) -> bool:
        """OpenAI's newer models refuse `max_tokens`, other servers know nothing else: the error tells."""
        if problem == "http 400" and self._limit_name == "max_tokens" and "max_completion_tokens" in detail:
            self._limit_name = "max_completion_tokens"
            return True
        return False

    def _note(self, problem: str | None, asked_pause: float) -> None:
        if problem is None:
            self._failures, self.trouble = 0, ""
            return
        config = self._config
        pause = min(config.backoff * 2 ** min(self._failures, 20), config.max_backoff)
        self._failures += 1
        self._not_before = max(self._not_before, time.monotonic() + max(pause, asked_pause))
        self.trouble = problem


def _classify(error: Exception) -> tuple[str, bool, bool]:
    """(reason, worth another try, whether the request may have reached the server) of a failed request.

    By class names: the client's HTTP library is httpx or httpx2, depending on its version.
    """
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return f"http {status}", status in TRANSIENT, True
    chain = [error, *([error.__cause__] if error.__cause__ else [])]
    names = {c.__name__ for e in chain for c in type(e).__mro__}
    if names & {"ConnectError", "ConnectTimeout", "UnsupportedProtocol", "LocalProtocolError"}:
        return "unreachable", True, False
    if names & {"TimeoutError", "APITimeoutError", "TimeoutException"}:
        return "timeout", True, True
    if names & {"TransportError", "RequestError", "APIConnectionError", "StreamError"}:
        return "connection lost", True, True
    return f"client error {type(error).__name__}", False, True


def _describe(error: Exception) -> str:
    cause = error.__cause__
    return f"{error}" + (f" ({type(cause).__name__}: {cause})" if cause is not None else "")


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that looks up host names in daemon threads.

    asyncio's own threads for that are joined when the interpreter exits: a name server that does not answer
    would hold up the end of a campaign.
    """

    async def getaddrinfo(self, host: Any, port: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        future: asyncio.Future[Any] = self.create_future()

        def settle(result: Any, error: OSError | None) -> None:
            if not future.done():
                future.set_result(result) if error is None else future.set_exception(error)

        def look_up() -> None:
            result, problem = None, None
            try:
                result = socket.getaddrinfo(host, port, **kwargs)
            except OSError as error:
                problem = error
            except UnicodeError as error:  # a host name that IDNA refuses
                problem = OSError(str(error))
            try:
                self.call_soon_threadsafe(settle, result, problem)
            except RuntimeError:
                pass  # the loop is closed: nobody waits any more

        threading.Thread(target=look_up, name="llm-lookup", daemon=True).start()
        return await future
