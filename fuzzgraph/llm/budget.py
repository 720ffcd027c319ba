"""Counting requests and tokens, so that limits are hard."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

# A reply shorter than this holds no program worth its request.
LEAST_REPLY = 100

# Tokens that a server adds around messages (roles, separators, a template).
OVERHEAD = 64


def estimate(text: str) -> int:
    """Tokens of a text, where a server does not say: one for 3 bytes (code measures from 2.5 to 4)."""
    return -(-len(text.encode(errors="replace")) // 3)


@dataclass(frozen=True)
class Usage:
    """Tokens of one request; `estimated` where the server did not say, or lied."""

    prompt: int
    reply: int
    estimated: bool

    @property
    def total(self) -> int:
        return self.prompt + self.reply


def judge_usage(reported: Any, prompt: str, reply: str, allowance: int) -> Usage:
    """What a request cost: the server's numbers where they are possible, estimates otherwise.

    Possible is: whole numbers, from one token for 16 bytes to one for each byte; for the reply at least up to
    `allowance`, since hidden reasoning counts and is not in the text.
    """
    sizes = len(prompt.encode(errors="replace")), len(reply.encode(errors="replace"))
    numbers = [
        reported.get(name) if isinstance(reported, dict) else None for name in ("prompt_tokens", "completion_tokens")
    ]
    highest = sizes[0] + OVERHEAD, max(sizes[1] + OVERHEAD, allowance)
    for number, size, high in zip(numbers, sizes, highest, strict=True):
        if type(number) is not int or not size // 16 <= number <= high:
            # A server that keeps to the limit, as those without usage do, bills no more than that for the reply.
            return Usage(estimate(prompt) + OVERHEAD, min(estimate(reply), allowance), True)
    return Usage(numbers[0] or 0, numbers[1] or 0, False)


NOTHING = Usage(0, 0, True)


class Budget:
    """Requests and tokens left. Thread-safe.

    `reserve` takes a request and its most likely cost before it starts, so that concurrent requests cannot
    together pass the limit; `settle` replaces that by what it cost. What was spent may pass `max_tokens` only
    by what a server bills beyond what it was asked for; nothing starts after that.
    """

    def __init__(self, max_requests: int, max_tokens: int, requests: int = 0, tokens: int = 0) -> None:
        self._lock = threading.Lock()
        self._max_requests, self._max_tokens = max_requests, max_tokens
        self._requests, self._tokens, self._reserved = requests, tokens, 0

    def reserve(self, prompt_tokens: int, reply_tokens: int) -> int | None:
        """Return how many tokens the reply may have, at most `reply_tokens`; None: do not start."""
        with self._lock:
            left = self._max_tokens - self._tokens - self._reserved - prompt_tokens
            allowance = min(reply_tokens, left)
            if self._requests >= self._max_requests or allowance < min(reply_tokens, LEAST_REPLY):
                return None
            self._requests += 1
            self._reserved += prompt_tokens + allowance
            return allowance

    def settle(self, reserved: int, spent: int, sent: bool = True) -> None:
        """End a request that had `reserved` tokens. One that never reached a server is given back."""
        with self._lock:
            self._reserved -= reserved
            self._tokens += spent
            if not sent:
                self._requests -= 1

    @property
    def spent(self) -> bool:
        """True once no request can start any more, whatever those in flight turn out to cost."""
        with self._lock:
            return self._requests >= self._max_requests or self._max_tokens - self._tokens < LEAST_REPLY

    def counts(self) -> dict[str, int]:
        """Requests started and tokens spent, those reserved by requests in flight included."""
        with self._lock:
            return {"requests": self._requests, "tokens": self._tokens + self._reserved}
