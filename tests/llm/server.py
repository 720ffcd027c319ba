"""A scripted OpenAI-compatible server on loopback.

    with ScriptedServer([status(500), reply("...")]) as server:
        ... server.url, server.requests

Each request takes the next step of the script; when it has run out, `default` answers. A step is a function of the
request handler. `kill` closes the socket and every open connection; `start` opens the same port again.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = Callable[["Handler"], None]


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    time: float


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ScriptedServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {k.lower(): v for k, v in self.headers.items()}
        self.owner.next_step(Request(self.path, headers, body, time.monotonic()))(self)

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def hang_up(self) -> None:
        """Close with a reset, as a killed process's kernel does."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def handle(self) -> None:
        self.owner.connections.add(self.connection)
        try:
            super().handle()
        except (OSError, ValueError):
            pass  # killed, or the client left

    def finish(self) -> None:
        self.owner.connections.discard(self.connection)
        try:
            super().finish()
        except (OSError, ValueError):
            pass  # killed, or the client left

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    block_on_close = False


class ScriptedServer:
    def __init__(self, script: Iterable[Step] = (), default: Step | None = None) -> None:
        self.script = list(script)
        self.default = default or status(500)
        self.requests: list[Request] = []
        self.connections: set[socket.socket] = set()
        self.port = 0
        self._lock = threading.Lock()
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def next_step(self, request: Request) -> Step:
        with self._lock:
            self.requests.append(request)
            return self.script.pop(0) if self.script else self.default

    def start(self) -> None:
        handler = type("BoundHandler", (Handler,), {"owner": self})
        self._server = _Server(("127.0.0.1", self.port), handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def kill(self) -> None:
        if self._server is None:
            return
        self._server.shutdown()
        self._server.server_close()
        self._server = None
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # closed already
        self.connections.clear()

    def __enter__(self) -> ScriptedServer:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()


def completion(text: Any, finish: str = "stop", usage: Any = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    data: dict[str, Any] = {
        "id": "1", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }  # fmt: skip
    if usage is not None:
        data["usage"] = usage
    return data


def usage(prompt: Any, reply: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": 0}


def reply(text: Any, finish: str = "stop", usage: Any = None, headers: dict[str, str] | None = None) -> Step:
    """A chat completion with this text."""
    body = json.dumps(completion(text, finish, usage)).encode()
    return lambda h: h.send(200, body, headers)


def raw(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Step:
    """Any body under any status."""
    return lambda h: h.send(status, body, headers)


def status(code: int, message: str = "no", headers: dict[str, str] | None = None) -> Step:
    """An error as OpenAI words it."""
    body = json.dumps({"error": {"message": message, "type": "t", "code": None}}).encode()
    return lambda h: h.send(code, body, headers)


def echo(code: int = 200) -> Step:
    """Says back the Authorization header: in the reply or the error, in a header, and whole in the body."""

    def step(h: Handler) -> None:
        key = h.headers["Authorization"]
        data = completion(f"your key is {key}") if code == 200 else {"error": {"message": f"Incorrect key: {key}"}}
        h.send(code, json.dumps(data).encode(), {"X-Echo": key})

    return step


def stall(seconds: float) -> Step:
    """Answers nothing for that long, then hangs up."""

    def step(h: Handler) -> None:
        time.sleep(seconds)
        h.hang_up()

    return step


def drip(seconds: float) -> Step:
    """A byte at a time, so that no single read takes long, for that long."""

    def step(h: Handler) -> None:
        h.send_response(200)
        h.send_header("Content-Type", "application/json")
        h.send_header("Content-Length", "100000")
        h.end_headers()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            h.wfile.write(b" ")
            h.wfile.flush()
            time.sleep(0.02)
        h.hang_up()

    return step


def cut_off() -> Step:
    """Half of the body that was announced, then hangs up."""

    def step(h: Handler) -> None:
        body = json.dumps(completion("x" * 100)).encode()
        h.send_response(200)
        h.send_header("Content-Type", "application/json")
        h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body[: len(body) // 2])
        h.wfile.flush()
        h.close_connection = True

    return step


def flood(bytes_sent: int) -> Step:
    """A body without end, until that much is sent or the client leaves."""

    def step(h: Handler) -> None:
        h.send_response(200)
        h.send_header("Content-Type", "application/json")
        h.send_header("Connection", "close")
        h.end_headers()
        for _ in range(bytes_sent >> 16):
            h.wfile.write(b" " * (1 << 16))
        h.close_connection = True

    return step
