"""Secrets leave every text, however a server words them."""

from __future__ import annotations

import base64
import io
import logging
import urllib.parse

import pytest

from fuzzgraph.llm.scrub import LogScrubber, Scrubber

KEY = "sk-Zq7X/vP2+mLw9RtK4hNc8B"


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f"Bearer {KEY}",
        f"Incorrect API key provided: {KEY[:10]}******{KEY[-8:]}.",
        KEY.upper(),
        urllib.parse.quote(KEY, safe=""),
        KEY.encode().hex(),
        base64.b64encode(KEY.encode()).decode(),
        base64.b64encode(f"u:{KEY}".encode()).decode(),
        base64.b64encode(f"me:{KEY}@x".encode()).decode(),
        base64.urlsafe_b64encode(f"user:{KEY}".encode()).decode(),
    ],
)
def test_forms_of_a_key(text: str) -> None:
    scrubber = Scrubber([KEY])
    scrubbed = scrubber.scrub(text)
    assert scrubber.holds(text) and not scrubber.holds(scrubbed)
    assert "[key]" in scrubbed and len(scrubbed) < len(text)
    assert KEY[-8:] not in scrubbed and KEY[:10] not in scrubbed


def test_other_text_stays() -> None:
    text = "torch.add(x, y) sk-Zq7 ß İ 漢"
    assert Scrubber([KEY]).scrub(text) is text
    assert Scrubber([""]).scrub(text) is text


def test_letters_that_change_length_in_lower_case() -> None:
    assert KEY not in Scrubber([KEY]).scrub(f"İİİ {KEY} İ")


@pytest.mark.parametrize("placeholder", ["x", "EMPTY", "none"])
def test_placeholders_are_no_secrets(placeholder: str) -> None:
    text = f"add(x, {placeholder})"
    assert Scrubber([placeholder]).scrub(text) == text


def test_short_keys_are_found_whole() -> None:
    assert Scrubber(["s3cr3t"]).scrub("a s3cr3t, s3cr3") == "a [key], s3cr3"


def test_logs() -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    logger = logging.getLogger("httpx_of_this_test")
    logger.addHandler(handler)
    hush = LogScrubber(Scrubber([KEY]))
    hush.install()
    try:
        logger.error("to %s with %s", "https://host", KEY)
        try:
            raise ValueError(KEY)
        except ValueError:
            logger.exception("failed")
    finally:
        hush.remove()
        logger.removeHandler(handler)
    assert KEY not in out.getvalue() and "to https://host with [key]" in out.getvalue()
    assert "ValueError: [key]" in out.getvalue()
    assert not logger.filters
