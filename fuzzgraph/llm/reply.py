"""Reading what a server sent: nothing in it is trusted."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

# Bytes of a response that are read at most, and characters of a reply and of one program that are looked at:
# a hundred times what a reply with three small programs needs.
MAX_BODY = 2 << 20
MAX_REPLY = 64 << 10
MAX_PROGRAM = 8 << 10
MAX_PROGRAMS = 16

# Labels of fences that hold programs. A program in a fence of another language is not one.
FENCE_LABELS = ("", "fg", "fuzzgraph", "text", "txt", "plaintext")

# Where a program starts: several may share a fence, or stand bare between sentences.
HEADER = re.compile(r"^(?=[ \t]*fuzzgraph \d+[ \t]*(?:#.*)?$)", re.MULTILINE)


@dataclass(frozen=True)
class Reply:
    """A reply's text, its reason to end, and what the server says that it cost (unjudged)."""

    text: str
    finish: str
    usage: Any


class BadReply(Exception):
    """A response that is no chat completion; the message is the reason that is counted."""


def read_body(body: bytes) -> Reply:
    """Read a chat completion. Raises BadReply."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise BadReply("invalid JSON") from None
    try:
        choice = data["choices"][0]
        content = choice["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise BadReply("no completion") from None
    if isinstance(content, list):  # content parts, as some servers answer
        content = "".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    if content is not None and not isinstance(content, str):
        raise BadReply("no completion")
    if len(content or "") > MAX_REPLY:
        raise BadReply("too long")
    return Reply(content or "", str(choice.get("finish_reason")), data.get("usage"))


@dataclass(frozen=True)
class Candidates:
    """Texts that may be programs, and whether another one was cut off."""

    texts: tuple[str, ...]
    truncated: bool = False


def extract(text: str, finish: str = "stop") -> Candidates:
    """The programs of a reply: the contents of its fences, or the whole of it where it has none.

    Reasoning in <think> is left out. With finish "length" the last program is cut off unless its fence is
    closed.
    """
    text = re.sub(r"<think>.*?(</think>|\Z)", "", text, flags=re.DOTALL)
    fences: list[tuple[str, list[str]]] = []
    inside = False
    for line in text.splitlines():
        mark = re.match(r"\s*(?:```|~~~)\s*([\w+-]*)", line)
        if mark:
            if not inside:
                fences.append((mark[1].lower(), []))
            inside = not inside
        elif inside:
            fences[-1][1].append(line)
    cut = inside and finish == "length"
    if fences:
        if cut:
            fences.pop()
        found = [_with_header(label, "\n".join(lines)) for label, lines in fences if label in FENCE_LABELS]
    else:
        cut = finish == "length"
        found = [] if cut else [text]
    programs = [p.strip() + "\n" for block in found for p in HEADER.split(block) if HEADER.match(p)]
    return Candidates(tuple(programs[:MAX_PROGRAMS]), cut)


def _with_header(label: str, block: str) -> str:
    """Models tend to leave out the first line where the fence already says what the block is."""
    lacks = label in ("fg", "fuzzgraph") and block.strip() and not HEADER.search(block)
    return f"fuzzgraph 1\n{block}" if lacks else block


def retry_after(value: str | None, now: float, most: float) -> float:
    """Seconds that a Retry-After header (seconds or a date) asks for, up to `most`; 0 for nonsense."""
    if not value:
        return 0.0
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, OverflowError):
            return 0.0
    return min(max(seconds, 0.0), most) if math.isfinite(seconds) else 0.0
