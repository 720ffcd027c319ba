"""A campaign with the `llm` mutator while its server is killed and restarted; the key is in nothing that it wrote."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.llm import server as s
from tests.llm.conftest import KEY
from tests.llm.test_proposer import fenced

# For the campaign to start and ask seven times, on two busy cores.
PATIENCE = 200.0


def program(seed: int) -> str:
    return f"""\
fuzzgraph 1
input x: i16[4, 3] values edge(0.5) seed {seed}
def f(x) {{
  a = neg(x)
  b = maximum(a, x)
  return (b,)
}}
call f(x)
"""


def replies() -> Iterator[s.Step]:
    """New programs, with failures, lies and the key between them."""
    number = 0
    while True:
        number += 2
        yield s.reply(fenced(program(number), program(number + 1)), usage=s.usage(900, 80))
        yield s.echo(200)
        yield s.reply(fenced(program(number).replace("neg(x)", 'os.system("touch pwned")') + f"# {KEY}\n"))
        yield s.echo(401)
        yield s.reply(fenced(program(number)), usage=s.usage(-1, 10**15), headers={"X-Key": KEY})
        yield s.cut_off()


def until(what: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert process.poll() is None, f"the campaign ended early:\n{log.read_text()[-4000:]}"
        assert time.monotonic() < end, f"waited for too long:\n{log.read_text()[-4000:]}"
        time.sleep(0.05)


@pytest.mark.compiles
@pytest.mark.slow
@pytest.mark.once
@pytest.mark.timeout(600)
def test_campaign_outlives_its_server(tmp_path: Path, checkout: Path) -> None:
    out, log = tmp_path / "campaign", tmp_path / "log"
    script = replies()
    with s.ScriptedServer(default=lambda h: next(script)(h)) as server:
        environment = {
            **os.environ,
            "PYTHONPATH": str(checkout),
            "FUZZGRAPH_LLM_MODEL": "scripted",
            "FUZZGRAPH_LLM_BASE_URL": server.url,
            "FUZZGRAPH_LLM_API_KEY": KEY,
            # Asked often, and soon again after a failure.
            "FUZZGRAPH_LLM_WEIGHT": "20",
            "FUZZGRAPH_LLM_MAX_CONCURRENT": "1",
            "FUZZGRAPH_LLM_BACKOFF": "0.1",
            "FUZZGRAPH_LLM_MAX_BACKOFF": "0.5",
            "FUZZGRAPH_LLM_TIMEOUT": "5",
        }
        command = [sys.executable, "-m", "fuzzgraph", "fuzz", "-o", str(out), "--no-seeds", "--seed", "1"]
        command += ["--generate-share", "0.1"]  # the model is asked for variants
        with log.open("wb") as f:
            process = subprocess.Popen(
                command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT
            )
        try:
            for _ in range(2):
                goal = len(server.requests) + 7
                until(lambda: len(server.requests) >= goal, process, log)  # noqa: B023
                server.kill()
                time.sleep(2)
                server.start()
            goal = len(server.requests) + 7
            until(lambda: len(server.requests) >= goal, process, log)
            server.kill()
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, log.read_text()[-4000:]
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    last = json.loads((out / "stats.jsonl").read_text().splitlines()[-1])["llm"]
    assert last["accepted"] >= 6 and last["requests"] >= 21
    # The server erred, lied and was away, and each was counted. Whether a request was under way when it went, or came
    # while it was gone, is the campaign's pace.
    assert {"no program", "holds the key", "http 401"} <= set(last["refused"])
    assert {"connection lost", "unreachable"} & set(last["refused"])
    assert not list(tmp_path.rglob("pwned"))
    key = KEY.encode()
    for path in [p for p in tmp_path.rglob("*") if p.is_file()]:
        data = path.read_bytes()
        for start in range(len(key) - 11):
            assert key[start : start + 12] not in data, f"{path} holds a part of the key"
