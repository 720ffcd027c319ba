"""A proposer against a server that answers, errs, stalls, truncates, lies, dies and comes back."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.llm import server as s
from tests.llm.conftest import Campaign

PROGRAM = """\
fuzzgraph 1
input x: i16[4] values edge(0.5) seed 3
def f(x) {
  a = abs(x)
  b = minimum(a, x)
  return (b,)
}
call f(x)
"""
OTHER = PROGRAM.replace("abs(x)", "neg(x)")
SYSTEM = '__import__("os").system("touch pwned")'
THIRD = PROGRAM.replace("abs(x)", "relu(x)")

Make = Callable[..., Campaign]


def fenced(*programs: str) -> str:
    return "Here you are:\n" + "\n".join(f"```fg\n{p}```" for p in programs)


def test_good_reply(campaign: Make) -> None:
    with s.ScriptedServer([s.reply(fenced(PROGRAM, OTHER), usage=s.usage(700, 90))]) as server:
        c = campaign(server.url)
        c.ask(text=THIRD, parent="e1")
        assert [p.parent for p in c.proposals] == ["e1", "e1"]
        assert [[n.meta["op"] for n in p.program.nodes()] for p in c.proposals] == [
            ["abs", "minimum"],
            ["neg", "minimum"],
        ]
        (exchange,) = c.exchanges
        assert exchange.verdict == "answered" and exchange.verdicts == ("accepted", "accepted")
        assert (exchange.prompt_tokens, exchange.reply_tokens, exchange.estimated) == (700, 90, False)
        assert exchange.model == "scripted" and exchange.prompt_version >= 1
        assert THIRD in exchange.prompt[1]["content"] and PROGRAM in exchange.reply
        (request,) = server.requests
        assert request.headers["authorization"].startswith("Bearer sk-")
        assert request.body["messages"] == list(exchange.prompt) and request.body["max_tokens"] > 0
        stats = c.proposer.stats()
        assert (stats["requests"], stats["tokens"], stats["accepted"], stats["refused"]) == (1, 790, 2, {})


def test_bare_reply(campaign: Make) -> None:
    with s.ScriptedServer([s.reply(f"Sure!\n\n{PROGRAM}\n{OTHER}")]) as server:
        c = campaign(server.url)
        c.ask()
        assert len(c.proposals) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (None, "empty"),
        ("I cannot help with that.", "no program"),
        ("```python\nimport os\nos.system('touch pwned')\n```", "no program"),
        ("```fg\nimport os\nos.system('touch pwned')\n```", "syntax"),
        (fenced(PROGRAM.replace("abs(x)", "frobnicate(x)")), "unknown operator"),
        (fenced(PROGRAM.replace("abs(x)", 'os.system("touch pwned")')), "unknown operator"),
        (fenced(PROGRAM.replace("abs(x)", 'load("/etc/passwd")')), "unknown operator"),
        (fenced(PROGRAM.replace("abs(x)", "transpose(x, 3, 4)")), "type error"),
        (fenced(PROGRAM.replace("abs(x)", f'python(x) """a = {SYSTEM}"""')), "verbatim Python"),
        (fenced(PROGRAM.replace("abs(x)", "call(torch.os.system, x)")), "syntax"),
        (fenced(PROGRAM.replace("abs(x)", 'state.getattr(x, "__class__")')), "forbidden name"),
        (fenced(PROGRAM.replace("def", 'option config.inductor.cpp.cxx = "touch"\ndef')), "config patch"),
        (fenced(PROGRAM.replace("i16[4]", "i16[4000000, 4000]")), "too large"),
        (fenced(PROGRAM.replace("return (b,)", "return " + "(" * 3000 + "b")), "syntax"),
        (fenced(PROGRAM.replace("(b,)", "[" * 3000 + "b" + "]" * 3000)), "syntax"),
        (fenced("fuzzgraph 1\n" + "#" * 9000), "too long"),
        (fenced(PROGRAM + "# sk-test-Zq7XvP2m\n"), "holds the key"),
    ],
)  # fmt: skip
def test_refusals(campaign: Make, inference, tmp_path, monkeypatch, text, reason) -> None:
    monkeypatch.chdir(tmp_path)
    with s.ScriptedServer([s.reply(text)]) as server:
        c = campaign(server.url)
        c.ask()
        assert (c.refused, c.proposals) == ({reason: 1}, [])
    # Nothing that a model writes is executed here, and type inference sees the grammar's operators only.
    assert set(inference.asked) <= {"abs", "minimum", "transpose"}
    assert list(tmp_path.iterdir()) == []


def test_duplicates_are_refused(campaign: Make) -> None:
    renamed = PROGRAM.replace("a = abs", "zz = abs").replace("minimum(a", "minimum(zz")
    with s.ScriptedServer([s.reply(fenced(PROGRAM, renamed, OTHER))]) as server:
        c = campaign(server.url, known=lambda content_hash: len(content_hash) != 64)
        c.ask()
        assert len(c.proposals) == 2 and c.refused == {"duplicate": 1}
        assert c.exchanges[0].verdicts == ("accepted", "duplicate", "accepted")


def test_what_the_corpus_has_is_a_duplicate(campaign: Make) -> None:
    with s.ScriptedServer([s.reply(fenced(PROGRAM))]) as server:
        c = campaign(server.url, known=lambda content_hash: True)
        c.ask()
        assert c.refused == {"duplicate": 1}


def test_cut_off_by_the_token_limit(campaign: Make) -> None:
    cut = fenced(PROGRAM) + "\n```fg\n" + OTHER[:60]
    with s.ScriptedServer([s.reply(cut, finish="length"), s.reply(PROGRAM[:60], finish="length")]) as server:
        c = campaign(server.url)
        c.ask(2)
        assert len(c.proposals) == 1 and c.refused == {"truncated": 2}
        assert [e.verdicts for e in c.exchanges] == [("accepted", "truncated"), ("truncated",)]


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (s.status(500), "http 500"),
        (s.status(401, "Incorrect API key"), "http 401"),
        (s.status(404), "http 404"),
        (s.raw(b"<html>gateway</html>", 502, {"Content-Type": "text/html"}), "http 502"),
        (s.raw(b"<html>welcome</html>", 200, {"Content-Type": "text/html"}), "invalid JSON"),
        (s.raw(b'{"choices": [', 200), "invalid JSON"),
        (s.raw(b"[" * 100_000, 200), "invalid JSON"),
        (s.raw(b"", 200), "invalid JSON"),
        (s.raw(b"\xff\xfe\x00", 200), "invalid JSON"),
        (s.raw(b"[]"), "no completion"),
        (s.raw(b'{"choices": []}'), "no completion"),
        (s.raw(b'{"choices": [{"message": {"content": 7}}]}'), "no completion"),
        (s.raw(b'{"choices": "abc"}'), "no completion"),
        (s.reply("x" * 100_000), "too long"),
        (s.flood(64 << 20), "too long"),
        (s.cut_off(), "connection lost"),
        (s.stall(0), "connection lost"),
        (s.stall(5), "timeout"),
        (s.drip(5), "timeout"),
        (s.raw(b"x" * 100, 200, {"Content-Encoding": "gzip"}), "connection lost"),
    ],
)  # fmt: skip
def test_failures_are_counted_and_the_next_reply_is_used(campaign: Make, step, reason) -> None:
    with s.ScriptedServer([step, s.reply(fenced(PROGRAM))]) as server:
        c = campaign(server.url, timeout=0.6)
        c.ask(2)
        assert c.refused == {reason: 1}
        assert len(c.proposals) == 1
        assert [e.verdict for e in c.exchanges] == [reason, "answered"]
        assert c.proposer.stats()["trouble"] == ""


def test_content_type_does_not_matter(campaign: Make) -> None:
    with s.ScriptedServer([s.reply(fenced(PROGRAM), headers={"Content-Type": "image/png"})]) as server:
        c = campaign(server.url)
        c.ask()
        assert len(c.proposals) == 1


def test_content_parts(campaign: Make) -> None:
    parts = [{"type": "text", "text": fenced(PROGRAM)}, {"type": "image"}, 3]
    with s.ScriptedServer([s.reply(parts)]) as server:
        c = campaign(server.url)
        c.ask()
        assert len(c.proposals) == 1


def test_tries_again_after_a_failure(campaign: Make) -> None:
    with s.ScriptedServer([s.status(500), s.status(503), s.reply(fenced(PROGRAM))]) as server:
        c = campaign(server.url, attempts=3)
        c.proposer.want("", "e")
        c.until(lambda c: bool(c.proposals))
        assert c.refused == {"http 500": 1, "http 503": 1} and c.proposer.stats()["requests"] == 3


def test_does_not_repeat_what_is_wrong(campaign: Make) -> None:
    with s.ScriptedServer([s.status(401), s.reply(fenced(PROGRAM))]) as server:
        c = campaign(server.url, attempts=3)
        c.ask()
        time.sleep(0.2)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("value", "least", "most"), [("0.6", 0.6, 3), ("1e9", 0.7, 3), ("nan", 0, 0.5), ("soon", 0, 0.5)]
)
def test_retry_after(campaign: Make, value, least, most) -> None:
    busy = s.status(429, headers={"Retry-After": value})
    with s.ScriptedServer([busy, s.reply(fenced(PROGRAM))]) as server:
        c = campaign(server.url, attempts=2, max_backoff=0.8)
        c.proposer.want("", "e")
        c.until(lambda c: bool(c.proposals))
        first, second = server.requests
        assert least <= second.time - first.time <= most


def test_a_model_that_refuses_max_tokens(campaign: Make) -> None:
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    with s.ScriptedServer([s.status(400, message)], default=s.reply(fenced(PROGRAM))) as server:
        c = campaign(server.url, attempts=2)
        c.proposer.want("", "e")
        c.until(lambda c: bool(c.proposals))
        assert [("max_tokens" in r.body, "max_completion_tokens" in r.body) for r in server.requests] == [
            (True, False),
            (False, True),
        ]


@pytest.mark.parametrize(
    "lie",
    [
        s.usage(-5, 10), s.usage(10**12, 3), s.usage("many", None), s.usage(True, True), s.usage(1e308, 5),
        s.usage(0, 0), "none", [], 7,
    ],
)  # fmt: skip
def test_usage_that_lies_is_estimated(campaign: Make, lie) -> None:
    with s.ScriptedServer([s.reply(fenced(PROGRAM), usage=lie)]) as server:
        c = campaign(server.url)
        c.ask()
        (exchange,) = c.exchanges
        assert exchange.estimated
        prompt = sum(len(m["content"]) for m in exchange.prompt)
        assert prompt / 5 < exchange.prompt_tokens < prompt
        assert len(exchange.reply) / 5 < exchange.reply_tokens < len(exchange.reply)
        assert c.proposer.stats()["tokens"] == exchange.prompt_tokens + exchange.reply_tokens


def test_request_limit_is_hard(campaign: Make) -> None:
    with s.ScriptedServer(default=s.status(500)) as server:
        c = campaign(server.url, max_requests=5, attempts=3, max_concurrent=4, backoff=0.0)
        for _ in range(20):
            c.proposer.want("", "e")
        c.until(lambda c: len(c.exchanges) == 5)
        time.sleep(0.3)
        c.proposer.poll()
        assert len(server.requests) == 5
        assert c.refused["http 500"] == 5 and c.refused["over budget"] > 0
        assert not c.proposer.want("", "e") and c.proposer.stats()["budget_spent"]


@pytest.mark.parametrize("counted", [s.usage(1000, 500), None, s.usage(-1, -1)])
def test_token_limit_is_hard(campaign: Make, counted) -> None:
    with s.ScriptedServer(default=s.reply("x" * 1500, usage=counted)) as server:
        c = campaign(server.url, max_total_tokens=6000, max_concurrent=4, reply_tokens=500)
        for _ in range(20):
            c.proposer.want("", "e")
        c.until(lambda c: c.refused.get("over budget", 0) + len(c.exchanges) == 20)
        assert 1 <= len(server.requests) <= 5
        assert c.proposer.stats()["tokens"] <= 6000


def test_the_last_reply_may_have_what_is_left(campaign: Make) -> None:
    with s.ScriptedServer(default=s.reply("")) as server:
        c = campaign(server.url, max_total_tokens=3000, reply_tokens=10_000)
        c.ask()
        assert server.requests[0].body["max_tokens"] < 3000


def test_limits_go_on_after_a_restart_of_the_campaign(campaign: Make) -> None:
    with s.ScriptedServer(default=s.reply(fenced(PROGRAM))) as server:
        first = campaign(server.url, max_requests=3)
        first.ask(2)
        first.proposer.close()
        second = campaign(server.url, state=first.proposer.stats(), max_requests=3)
        second.ask()
        assert not second.proposer.want("", "e")
        assert second.proposer.stats()["exchanges"] == 3 and len(server.requests) == 3
        assert second.exchanges[0].number == 3


def test_unreachable_costs_no_requests(campaign: Make) -> None:
    server = s.ScriptedServer()
    server.start()
    server.kill()
    c = campaign(server.url, max_requests=2)
    c.ask(5)
    stats = c.proposer.stats()
    assert c.refused == {"unreachable": 5} and (stats["requests"], stats["tokens"]) == (0, 0)


def test_neither_asking_nor_polling_waits(campaign: Make) -> None:
    with s.ScriptedServer(default=s.stall(30)) as server:
        c = campaign(server.url, queue=3)
        start = time.monotonic()
        accepted = [c.proposer.want(PROGRAM, "e") for _ in range(100)]
        for _ in range(100):
            assert c.proposer.poll() == []
        assert time.monotonic() - start < 0.5
        assert sum(accepted) < 10 and c.proposer.stats()["dropped"] == 100 - sum(accepted)


def test_poll_judges_no_more_than_its_limit(campaign: Make) -> None:
    with s.ScriptedServer([s.reply(fenced(PROGRAM, OTHER, THIRD))]) as server:
        c = campaign(server.url)
        c.proposer.want("", "e")
        c.until(lambda c: bool(c.proposer._arrived))
        counts = []
        while sum(counts) < 3:
            counts.append(len(c.proposer.poll(limit=1)))
        assert max(counts) == 1


@pytest.mark.parametrize("step", [s.stall(30), s.drip(30)])
def test_closes_promptly_though_the_server_stalls(campaign: Make, step) -> None:
    with s.ScriptedServer(default=step) as server:
        c = campaign(server.url, timeout=30, max_concurrent=2)
        c.proposer.want("", "e1")
        c.proposer.want("", "e2")
        c.until(lambda c: len(server.requests) == 2)
        start = time.monotonic()
        c.proposer.close()
        assert time.monotonic() - start < 1
        assert sorted((e.parent, e.verdict) for e in c.exchanges) == [("e1", "closed"), ("e2", "closed")]
        c.proposer.close()
        assert not c.proposer.want("", "e")


def test_closing_before_the_client_is_imported(campaign: Make) -> None:
    c = campaign("http://127.0.0.1:9/v1")
    c.proposer.want("", "e")
    start = time.monotonic()
    c.proposer.close()
    assert time.monotonic() - start < 1


def test_unjudged_replies_are_stored_on_closing(campaign: Make) -> None:
    with s.ScriptedServer([s.reply(fenced(PROGRAM, OTHER))]) as server:
        c = campaign(server.url)
        c.proposer.want("", "e")
        c.until(lambda c: bool(c.proposer._arrived))
        c.proposer.poll(limit=1)
        c.proposer.close()
        assert [e.verdicts for e in c.exchanges] == [("accepted", "unjudged")]


def test_server_killed_and_restarted(campaign: Make) -> None:
    texts = [PROGRAM.replace("seed 3", f"seed {n}") for n in range(1000)]
    with s.ScriptedServer(default=lambda h: s.reply(fenced(texts.pop()))(h)) as server:
        c = campaign(server.url, max_concurrent=2, max_requests=1000, max_total_tokens=10**9, queue=4)

        def keep_asking(c: Campaign) -> None:
            c.proposer.want("", "e")

        for _ in range(3):
            target = len(c.proposals) + 5
            c.until(lambda c: keep_asking(c) or len(c.proposals) >= target)  # noqa: B023
            server.kill()
            failures = c.refused.get("unreachable", 0) + 2
            c.until(lambda c: keep_asking(c) or c.refused.get("unreachable", 0) >= failures)  # noqa: B023
            assert c.proposer.stats()["trouble"] == "unreachable"
            server.start()
        target = len(c.proposals) + 5
        c.until(lambda c: keep_asking(c) or len(c.proposals) >= target)
