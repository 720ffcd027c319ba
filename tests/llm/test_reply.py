"""Reading replies, without a server."""

from __future__ import annotations

import pytest

from fuzzgraph.llm.reply import MAX_PROGRAMS, Candidates, extract, retry_after

A, B = "fuzzgraph 1\ncall a()\n", "fuzzgraph 1\ncall b()\n"


@pytest.mark.parametrize(
    ("text", "finish", "expected"),
    [
        ("", "stop", Candidates(())),
        ("```fg\n```", "stop", Candidates(())),
        (f"```fg\n{A}```", "stop", Candidates((A,))),
        (f"```\n{A}```\ntext\n```FG\n{B}```", "stop", Candidates((A, B))),
        (f"~~~fg\n{A}\n\n{B}~~~", "stop", Candidates((A, B))),
        (f"```python\n{A}```", "stop", Candidates(())),
        (f"{A}\n{B}", "stop", Candidates((A, B))),
        ("```fg\ncall a()\n```", "stop", Candidates((A,))),
        ("```\ncall a()\n```", "stop", Candidates(())),
        (f"<think>\n```fg\n{B}```</think>```fg\n{A}```", "stop", Candidates((A,))),
        (f"<think>```fg\n{B}```", "length", Candidates((), True)),
        (f"```fg\n{A}```\n```fg\nfuzzg", "length", Candidates((A,), True)),
        (f"```fg\n{A}```", "length", Candidates((A,))),
        (f"```fg\n{A}", "stop", Candidates((A,))),
        (A, "length", Candidates((), True)),
        ("```" * 10_000, "stop", Candidates(())),
    ],
)
def test_extract(text: str, finish: str, expected: Candidates) -> None:
    assert extract(text, finish) == expected


def test_no_more_programs_than_fit() -> None:
    assert len(extract(A * 1000).texts) == MAX_PROGRAMS


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, 0), ("", 0), ("3", 3), ("2.5", 2.5), ("-1", 0), ("1e9", 60), ("inf", 0), ("nan", 0), ("soon", 0),
        ("Thu, 01 Jan 1970 00:01:50 GMT", 10), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ],
)  # fmt: skip
def test_retry_after(value: str | None, seconds: float) -> None:
    assert retry_after(value, now=100, most=60) == seconds
