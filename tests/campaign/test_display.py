from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from fuzzgraph.campaign import display
from fuzzgraph.campaign.config import Config
from fuzzgraph.campaign.display import Headless, Terminal
from fuzzgraph.campaign.events import Started, Stopped, Tick
from fuzzgraph.campaign.session import opened
from fuzzgraph.campaign.tally import Tally
from tests.campaign.fakes import parts


def test_headless_says_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(display.time, "monotonic", lambda: now)
    out = io.StringIO()
    show = Headless(out, Tally({"programs": 40, "valid": 39, "entries": 7, "findings": 1}), lambda: 1234)
    show(Started(5, False, 0))
    for _ in range(240):
        now += 1
        show(Tick(now - 1000, 80.0, 3, 7 if now > 1200 else 0))
    lines = out.getvalue().splitlines()
    assert len(lines) == 1 + 4
    assert lines[1] == "1m00s: 40 programs (97.5% valid, 0.50 a CPU s), 7 entries, 1234 lines, 1 findings"
    assert lines[4].endswith("1 findings, 7 wait to be judged")


def test_headless_outlives_its_reader() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as out:
        show = Headless(out, Tally({}), lambda: 0)
        os.close(reader)
        show(Started(5, False, 0))
        show(Started(5, False, 0))
        # What could not be written must not be tried again when it is closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)


def test_terminal_shows_and_cleans_up(capsys: pytest.CaptureFixture[str]) -> None:
    show = Terminal(Tally({"programs": 40, "valid": 40}), lambda: 1234, "c", "1 h")
    screen = io.StringIO()
    show._live.console = Console(file=screen, force_terminal=True, width=100)
    show(Started(5, False, 0))
    show(Tick(61.0, 80.0, 3))
    show(Stopped("time", 61.0, 80.0))
    assert "1m01s of 1 h" in screen.getvalue()
    assert "1,234 compiler lines" in screen.getvalue()


def test_the_loop_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c").mkdir()
    with opened(tmp_path / "c", Config(seed=1, programs=20), parts, None) as session:
        session.campaign.run()
    assert capfd.readouterr() == ("", "")
