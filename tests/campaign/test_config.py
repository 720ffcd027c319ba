from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fuzzgraph.campaign.clock import Clock
from fuzzgraph.campaign.config import Config, parse_duration, read_toml
from fuzzgraph.campaign.cpu import CpuMeter
from fuzzgraph.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"), [("8h", 28800), ("30m", 1800), ("45s", 45), ("1h30m", 5400), ("90", 90), ("0.5m", 30)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "5x", "0s", "one hour", "-3m"])
def test_no_durations(text: str) -> None:
    with pytest.raises(UsageError, match="no duration"):
        parse_duration(text)


def test_options_survive_their_toml_twin(tmp_path: Path) -> None:
    config = Config(seed=3, seeds=("a b.fg", 'q"uote'), time=1.5, deterministic=True, stop_on=r"min\d \\ 'x'")
    (tmp_path / "f.toml").write_text(config.to_toml())
    assert Config(**read_toml(tmp_path / "f.toml")) == config


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("jbos = 3", "unknown option 'jbos'"), ("jobs = 'many'", "must be a whole number"), ("jobs = ", "not a TOML")],
)
def test_a_bad_file_is_named_with_its_key(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "f.toml").write_text(text)
    with pytest.raises(UsageError, match=complaint) as error:
        read_toml(tmp_path / "f.toml")
    assert "f.toml" in error.value.where


def spend(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_clock_gives_nested_time_to_the_innermost_section() -> None:
    clock = Clock()
    with clock.section("outer"):
        spend(0.05)
        with clock.section("inner"):
            spend(0.1)
    assert 0.03 < clock.seconds["outer"] < 0.09
    assert 0.08 < clock.seconds["inner"] < 0.15


def test_cpu_of_dead_and_living_descendants_counts() -> None:
    meter = CpuMeter()
    pid = os.fork()
    if pid == 0:
        spend(0.2)
        os._exit(0)
    os.waitpid(pid, 0)
    dead = meter.read(fresh=True)
    assert 0.15 <= dead < 1.0
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        spend(0.2)
        os.write(write, b"x")
        time.sleep(60)
        os._exit(0)
    os.read(read, 1)
    assert meter.read(fresh=True) >= dead + 0.15
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    for fd in (read, write):
        os.close(fd)
    assert meter.read(fresh=True) >= dead + 0.15
