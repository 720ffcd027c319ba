"""Keeping secrets out of everything that is stored, shown or logged."""

from __future__ import annotations

import base64
import logging
import string
import urllib.parse
from collections.abc import Iterable

MARK = "[key]"

# Servers echo parts of a key ("Incorrect API key provided: sk-abcd***"), so any run of this many of its
# characters counts. Shorter runs occur in ordinary text.
RUN = 8

# Shorter "keys" are the placeholders that local servers ask for (`EMPTY`, `x`): no secrets, and too common in
# text.
SHORTEST = 6

# `str.lower` changes the length of some texts, and secrets are ASCII or compared as they are.
_LOWER = {ord(c): c.lower() for c in string.ascii_uppercase}


class Secret:
    """A string that no representation or pickle of its holder shows; `reveal()` is the only way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return MARK if self._value else "''"

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> str:
        raise TypeError("a secret is never pickled")


class Scrubber:
    """Replaces secrets, their usual encodings and long enough parts of them, in any case, by a mark.

    `scrub` returns its argument itself where it holds none of them.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form.translate(_LOWER) for secret in secrets if len(secret) >= SHORTEST for form in _encodings(secret)}
        self._whole = sorted((f for f in forms if len(f) < RUN), key=len, reverse=True)
        self._runs = {form[i : i + RUN] for form in forms for i in range(len(form) - RUN + 1)}

    def holds(self, text: str) -> bool:
        return bool(self._spans(text))

    def scrub(self, text: str) -> str:
        parts, end = [], 0
        for start, stop in self._spans(text):
            parts += [text[end:start], MARK]
            end = stop
        return "".join([*parts, text[end:]]) if parts else text

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Disjoint spans of secret text, in order."""
        lower = text.translate(_LOWER)
        found: list[tuple[int, int]] = []
        if self._runs:
            found += [(i, i + RUN) for i in range(len(lower) - RUN + 1) if lower[i : i + RUN] in self._runs]
        for whole in self._whole:
            start = lower.find(whole)
            while start >= 0:
                found.append((start, start + len(whole)))
                start = lower.find(whole, start + 1)
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(found):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        return merged


def _encodings(secret: str) -> set[str]:
    """The secret as it may appear: plain, URL-quoted, hexadecimal, base64 at each alignment."""
    data = secret.encode()
    forms = {secret, urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret), data.hex()}
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data).decode()
        # The first characters mix in what stands before the secret, the last ones what stands after.
        inner = encoded[(0, 2, 3)[shift] : len(encoded.rstrip("=")) - 1]
        forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return forms


class LogScrubber(logging.Filter):
    """A filter for the HTTP client's loggers: scrubs what they say before any handler sees it."""

    def __init__(self, scrubber: Scrubber) -> None:
        super().__init__()
        self._scrubber = scrubber

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._scrubber.scrub(record.getMessage()), None
        if record.exc_info:
            # A traceback's text may quote headers or the URL.
            trace = logging.Formatter().formatException(record.exc_info)  # type: ignore[arg-type]
            record.exc_text, record.exc_info = self._scrubber.scrub(trace), None
        return True

    def install(self) -> None:
        """Attach to all loggers that the client and its HTTP library made (call after importing them)."""
        for logger in _client_loggers():
            logger.addFilter(self)

    def remove(self) -> None:
        for logger in _client_loggers():
            logger.removeFilter(self)


def _client_loggers() -> list[logging.Logger]:
    names = [n for n in logging.root.manager.loggerDict if n.split(".")[0].startswith(("openai", "httpx", "httpcore"))]
    return [logging.getLogger(name) for name in names]
