"""The key reaches the server and nothing else, even where the server says it back."""

from __future__ import annotations

import io
import logging
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzzgraph.llm.journal import Journal
from fuzzgraph.llm.scrub import Secret
from tests.llm import server as s
from tests.llm.conftest import KEY, Campaign, config
from tests.llm.test_proposer import PROGRAM, fenced


def leaks(text: str) -> bool:
    return any(KEY[i : i + 8].lower() in text.lower() for i in range(len(KEY) - 7))


@pytest.mark.parametrize(
    "step",
    [
        s.echo(200),
        s.echo(401),
        s.echo(500),
        s.raw(f"<html>{KEY}</html>".encode(), 502),
        s.raw(f'{{"choices": "{KEY}"}}'.encode()),
        s.reply(fenced(PROGRAM) + f"\nYour key: {KEY[:9]}...{KEY[-9:]}"),
        s.reply(fenced(PROGRAM + f"# {KEY}\n")),
        s.reply(fenced(PROGRAM.replace("a = abs(x)", "sk_a = abs(x)") + f"\n# {KEY[5:20]}\n")),
        s.reply(fenced(PROGRAM), finish=KEY),
        s.reply(fenced(PROGRAM), usage={"prompt_tokens": KEY, "completion_tokens": 1}),
        s.raw(b"", 302, {"Location": f"http://127.0.0.1:1/{KEY}"}),
        s.raw(b"x" * 20, 200, {"Content-Length": KEY}),
        s.status(429, headers={"Retry-After": KEY}),
    ],
)
def test_what_the_server_says_back(gate, tmp_path: Path, step: s.Step, capfd: pytest.CaptureFixture[str]) -> None:
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    journal = Journal(tmp_path / "llm.jsonl")
    try:
        with s.ScriptedServer(default=step) as server:
            c = Campaign(gate, config(server.url + f"/{KEY}", timeout=1.0))
            c.proposer._sink = lambda e: (c.exchanges.append(e), journal(e))  # type: ignore[func-returns-value]
            c.ask(text=f"{PROGRAM}# {KEY}\n", parent="e")
            stats = c.proposer.stats()
            c.proposer.close()
            assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    finally:
        journal.close()
        root.removeHandler(handler)
        root.setLevel(level)
    out = capfd.readouterr()
    shown = [repr(c.exchanges), repr(stats), repr(c.proposer.config), repr(c.proposer.__dict__), out.out + out.err]
    shown += [log.getvalue(), (tmp_path / "llm.jsonl").read_text()]
    shown += [p.text for p in c.proposals]
    for text in shown:
        assert not leaks(text)
    assert "[key]" in shown[-1 - len(c.proposals)]
    with pytest.raises(TypeError):
        pickle.dumps(c.proposer.config)


def test_a_proxy_that_wants_user_and_password(campaign: Callable[..., Campaign]) -> None:
    with s.ScriptedServer(default=s.reply(fenced(PROGRAM))) as server:
        c = campaign(server.url.replace("//", "//me:pass-of-12@"), key="")
        c.ask()
        assert server.requests[0].headers["authorization"] == "Basic bWU6cGFzcy1vZi0xMg=="
        assert len(c.proposals) == 1


def test_query_of_the_url_is_sent(campaign: Callable[..., Campaign]) -> None:
    with s.ScriptedServer(default=s.reply(fenced(PROGRAM))) as server:
        campaign(server.url + "?api-version=7").ask()
        assert server.requests[0].path == "/v1/chat/completions?api-version=7"


def test_without_a_key_none_of_the_environment_is_sent(
    campaign: Callable[..., Campaign], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with s.ScriptedServer(default=s.reply(fenced(PROGRAM))) as server:
        campaign(server.url, key="").ask()
        assert KEY not in str(server.requests)


def test_secret_in_a_traceback() -> None:
    with pytest.raises(TypeError) as caught:
        Secret(KEY) + "x"  # type: ignore[operator]
    assert not leaks(str(caught.value))
