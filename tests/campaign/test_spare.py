"""Triage beside a campaign: when it is started, and that it ends with the campaign."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fuzzgraph.campaign.config import Config
from fuzzgraph.campaign.events import FindingSeen, Stopped, Tick
from fuzzgraph.campaign.spare import LOG, NICE, SpareTriage, spare_triage

TICK = Tick(0.0, 0.0, 1)
# Says its priority, then waits for what the test says.
CODE = "import os, time; print(os.getpriority(os.PRIO_PROCESS, 0), flush=True); time.sleep(float(os.environ['WAIT']))"


def seen(first: bool = True) -> Any:
    nothing: Any = SimpleNamespace()
    return FindingSeen(nothing, first, nothing, nothing)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_it_runs_once_for_all_findings_so_far_and_again_for_later_ones(tmp_path: Path) -> None:
    code = "import time; time.sleep(0.2); print(1, flush=True); time.sleep(0.3)"
    spare = SpareTriage(tmp_path, [sys.executable, "-c", code])
    log = tmp_path / LOG
    for event in (TICK, seen(first=False), TICK):
        spare(event)
    assert not log.exists()
    for event in (seen(), TICK, seen(), TICK, TICK):
        spare(event)
    until(lambda: log.read_text() == "1\n")

    def ticked() -> bool:
        spare(TICK)
        return log.read_text() == "1\n1\n"

    until(ticked)
    time.sleep(0.5)
    spare(TICK)
    time.sleep(0.5)
    assert log.read_text() == "1\n1\n"


def test_it_has_low_priority_and_ends_with_the_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAIT", "600")
    spare = SpareTriage(tmp_path, [sys.executable, "-c", "import time; time.sleep(0.5); " + CODE])
    spare(seen())
    spare(TICK)
    until(lambda: (tmp_path / LOG).read_text() != "")
    assert int((tmp_path / LOG).read_text()) == max(NICE, os.getpriority(os.PRIO_PROCESS, 0))
    began = time.monotonic()
    spare(Stopped("time", 1.0, 1.0))
    assert time.monotonic() - began < 10
    spare.end()  # twice is fine


@pytest.mark.parametrize("options", [{"no_triage": True}, {"deterministic": True}, {"cpu_seconds": 5.0}])
def test_nothing_runs_beside_what_is_measured(tmp_path: Path, options: dict[str, Any]) -> None:
    assert spare_triage(tmp_path, Config(**options)) is None
    assert spare_triage(tmp_path, Config(known=("a.toml",))).command[-2:] == ["--known", "a.toml"]  # type: ignore[union-attr]
