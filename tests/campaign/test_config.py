from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fuzzgraph.campaign.clock import Clock
from fuzzgraph.campaign.config import Config, checked, parse_duration, read_toml
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
    seeds = ("a b.fg", 'q"uote', "é\U0001f600\n\x7f")
    config = Config(seed=3, seeds=seeds, time=1.5, deterministic=True, stop_on=r"min\d \\ 'x'")
    (tmp_path / "f.toml").write_text(config.to_toml(), encoding="utf-8")
    assert Config(**read_toml(tmp_path / "f.toml")) == config


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("jbos = 3", "unknown option 'jbos'"), ("jobs = 'many'", "must be a whole number"), ("jobs = ", "not a TOML"),
     ('target = "a\\u0000"', "NUL"), ('seeds = ["a\\u0000"]', "NUL")],
)
def test_a_bad_file_is_named_with_its_key(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "f.toml").write_text(text)
    with pytest.raises(UsageError, match=complaint) as error:
        read_toml(tmp_path / "f.toml")
    assert "f.toml" in error.value.where


@pytest.mark.parametrize(
    ("values", "option"),
    [
        ({"cpu_seconds": float("nan")}, "--cpu-seconds"), ({"cpu_seconds": float("inf")}, "--cpu-seconds"),
        ({"time": float("inf")}, "--time"), ({"programs": -1}, "--programs"), ({"timeout": float("nan")}, "--timeout"),
        ({"timeout": float("inf")}, "--timeout"), ({"seed": 2**63}, "--seed"), ({"stop_on": "(" * 3000}, "--stop-on"),
        ({"preload": ("/",)}, "--preload /"), ({"known": ("/",)}, "--known /"), ({"seeds": ("x" * 300,)}, "--seeds x"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_are_refused(values: dict[str, Any], option: str) -> None:
    with pytest.raises(UsageError) as error:
        checked(Config(**values))
    assert error.value.where.startswith(option)


def test_a_path_that_no_text_file_can_name_is_refused(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    Path(path).touch()
    with pytest.raises(UsageError, match="no UTF-8"):
        checked(Config(seeds=(path,)))


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


AFTER_A_CHILD = """
import os, time
if os.fork() == 0:
    while time.process_time() < 0.5:
        pass
    os._exit(0)
os.wait()
from fuzzgraph.campaign.cpu import CpuMeter
print(CpuMeter(imports=True).read(fresh=True) - time.process_time())
"""


def test_what_ended_before_the_campaign_does_not_count() -> None:
    # `scripts/fuzz` sets up and then becomes fuzzgraph, whose children the set-up's processes then are.
    ran = subprocess.run([sys.executable, "-c", AFTER_A_CHILD], capture_output=True, text=True, check=True)
    assert float(ran.stdout) < 0.3
