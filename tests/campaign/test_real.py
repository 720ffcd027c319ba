"""Campaigns with the real parts, as processes of their own."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fuzzgraph.campaign import summary
from fuzzgraph.corpus.lock import DirectoryLock
from fuzzgraph.corpus.store import Store
from fuzzgraph.experiment import _run, bench
from fuzzgraph.experiment.torture import executions, torture
from fuzzgraph.resources import data_dir

pytestmark = [pytest.mark.compiles, pytest.mark.slow, pytest.mark.timeout(900)]

# Few and quick ones: these tests are about what goes on between programs.
SEEDS = ("activations.fg", "argmax_used.fg", "attention.fg")


def options(*more: object) -> list[str]:
    seeds = [str(data_dir("corpus") / "seeds" / name) for name in SEEDS]
    return [*map(str, more), "--no-llm", "--seeds", *seeds]


def fuzz(directory: Path, *more: object) -> subprocess.CompletedProcess[str]:
    command = _run.command(["fuzz", "-o", str(directory), *options(*more)])
    return subprocess.run(command, env=_run.environment(), capture_output=True, text=True, timeout=800)


def test_a_campaign_ends_with_a_summary_and_agrees_with_its_store(tmp_path: Path) -> None:
    done = fuzz(tmp_path / "c", "--programs", 12, "--seed", 1)
    assert done.returncode == 0, done.stderr
    assert "Campaign ended: programs. Seed 1." in done.stdout
    assert "Next: " in done.stdout
    standing = summary.read(tmp_path / "c")
    assert standing.programs == 12
    assert summary.counted(standing.lines) > 3000
    for entry in Store(tmp_path / "c", readonly=True).entries():
        assert (tmp_path / "c" / "corpus" / f"{entry.hash[:12]}.fg").is_file()
    split = bench.read(tmp_path / "c")
    assert split.share <= bench.ALLOWED
    assert sum(split.parts().values()) == pytest.approx(split.total, rel=0.35)


@pytest.mark.once
def test_same_seed_same_programs_in_two_processes(tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        done = fuzz(tmp_path / name, "--programs", 8, "--seed", 5, "--deterministic")
        assert done.returncode == 0, done.stderr
        store = Store(tmp_path / name, readonly=True)
        found.append([(p.number, p.hash) for p in store.programs()])
        store.close()
    assert found[0] == found[1]
    assert len(found[0]) == 8


@pytest.mark.once
def test_kill_9_at_random_moments_loses_nothing(tmp_path: Path) -> None:
    kept = torture(tmp_path / "c", 3, options("--jobs", 1), seed=random.SystemRandom().randrange(1000), patience=400)
    assert kept.sessions == 3
    assert kept.executions >= 3


@pytest.mark.once
def test_sigterm_ends_cleanly_and_resume_goes_on(tmp_path: Path) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = _run.start(["fuzz", "-o", str(tmp_path / "c"), *options()], **pipes)
    while executions(tmp_path / "c") < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    said, trouble = process.communicate(timeout=60)
    assert process.returncode == 0
    assert trouble == ""
    assert "Campaign ended: terminated" in said
    before = summary.read(tmp_path / "c")
    assert before.running is None
    done = fuzz(tmp_path / "c", "--resume", "--programs", before.programs + 2)
    assert done.returncode == 0, done.stderr
    after = summary.read(tmp_path / "c")
    assert after.sessions == 2
    assert after.programs >= before.programs + 2
    assert after.elapsed > before.elapsed
    assert after.seed == before.seed


@pytest.mark.once
def test_a_planted_fault_becomes_a_finding_with_a_reproducer(tmp_path: Path) -> None:
    (tmp_path / "fault.py").write_text(
        "import torch._inductor.lowering as l\n"
        "class PlantedFault(Exception): pass\n"
        "def apply():\n"
        "    for key in [k for k in l.lowerings if str(k).startswith('aten.argmax')]:\n"
        "        def broken(*args, **kwargs):\n"
        "            raise PlantedFault('planted')\n"
        "        l.lowerings[key] = broken\n"
    )
    directory = tmp_path / "c"
    planted = ("--preload", tmp_path / "fault.py", "--fail-on-new")
    done = fuzz(directory, "--stop-on", "PlantedFault", "--programs", 60, *planted)
    assert done.returncode == 1, done.stderr
    [finding] = [f for f in summary.read(directory).findings if "PlantedFault" in f["signature"]]
    folder = Path(finding["path"])
    described = json.loads((folder / "finding.json").read_text())
    assert described["preload"] == [str(tmp_path / "fault.py")]
    # Without the fault the reproducer has nothing to show: it imports torch only.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    shown = subprocess.run(
        [sys.executable, folder / "repro.py"], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert shown.returncode == 0, shown
    replay = subprocess.run(
        _run.command(["run", str(folder)]), env=_run.environment(), capture_output=True, text=True, timeout=400
    )
    assert replay.returncode == 1, replay
    assert "planted" in replay.stdout


@pytest.mark.once
def test_findings_are_triaged_on_spare_time(tmp_path: Path) -> None:
    """A bug of every torch so far, as the only seed: its triage begins while the campaign runs, and ends with it."""
    seed = tmp_path / "short.fg"
    seed.write_text(
        "fuzzgraph 1\ninput x: i16[5] values ints(-3, 3)\n"
        "def f(x) {\n a = abs(x)\n b = minimum(a, x)\n return b\n}\ncall f(x)\n"
    )
    directory = tmp_path / "c"
    command = _run.command(["fuzz", "-o", str(directory), "--no-llm", "--jobs", "1", "--seeds", str(seed)])
    campaign = subprocess.Popen(command, env=_run.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + 600
        while not any("triage" in json.loads(p.read_text()) for p in directory.glob("findings/*/finding.json")):
            assert campaign.poll() is None and time.monotonic() < end
            time.sleep(0.5)
        campaign.send_signal(signal.SIGTERM)
        said = campaign.communicate(timeout=120)[0].decode()
    finally:
        campaign.kill()
    assert campaign.returncode == 0, said
    assert "Campaign ended: terminated" in said
    log = (directory / "triage.log").read_text()
    assert "deflake" in log and "Traceback" not in log
    lock = DirectoryLock(directory / "findings", "triage.lock", "triage")
    lock.acquire()  # nothing runs any more
    lock.release()
