from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fuzzgraph.campaign import summary
from fuzzgraph.campaign.config import Config
from fuzzgraph.campaign.directory import prepare
from fuzzgraph.campaign.parts import Parts
from fuzzgraph.campaign.session import opened
from fuzzgraph.errors import EnvironmentProblem, FuzzgraphError, UsageError
from fuzzgraph.experiment import bench, lines
from fuzzgraph.experiment.torture import Kept, compare, inspect
from fuzzgraph.ir.program import Program
from tests.campaign.fakes import FakeExecutor, parts
from tests.campaign.test_campaign import run

GOOD = """import torch
x = torch.randn(8, 4)
torch.compile(lambda a: torch.softmax(a, 1))(x)
"""
BAD = "raise ValueError('the reference does not run')\n"
DIES = "import os\nos._exit(3)\n"


@pytest.mark.compiles
@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring")
def test_lines_of_programs_whose_reference_runs(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(GOOD)
    (tmp_path / "b.py").write_text(BAD)
    (tmp_path / "c.py").write_text(DIES)
    (tmp_path / "d.py").write_text(GOOD.replace("softmax(a, 1)", "cumsum(a, 1)"))
    count = lines.count(lines.python_programs(tmp_path))
    assert (count.programs, count.counted) == (4, 2)
    assert count.by_folder()["_inductor"] > 500
    assert [wrong.split(": ", 1)[1] for wrong in count.wrong] == [
        "ValueError: the reference does not run", "it killed its process or hung",
    ]  # fmt: skip
    alone = lines.count(lines.python_programs(tmp_path / "a.py"))
    assert 0 < alone.beyond < count.beyond


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="only where Python has no sys.monitoring")
def test_counting_says_which_python_it_needs(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"3\.12"):
        lines.count([])


def test_a_folder_without_programs_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no \.py program"):
        lines.python_programs(tmp_path)


def test_bench_reads_a_campaign(tmp_path: Path) -> None:
    run(tmp_path / "c")
    split = bench.read(tmp_path / "c")
    assert split.programs == 200
    assert split.executions["cover"] >= 190
    assert "engine's own share" in bench.text(split)


def test_torture_counts_programs_made_to_raise(tmp_path: Path) -> None:
    config = Config(seed=7, programs=20)
    prepare(tmp_path / "c", resume=False)

    def some_broken(*args: Any) -> Parts:
        made = parts(*args, executor=FakeExecutor())
        generate = made.makers.generate

        def half_broken(rng: Random) -> Program:
            return generate(rng).with_options(expects_error=rng.random() < 0.5)

        return replace(made, makers=replace(made.makers, generate=half_broken))

    with opened(tmp_path / "c", config, some_broken, None) as session:
        session.campaign.run()
    assert summary.read(tmp_path / "c").broken > 0
    assert len(inspect(tmp_path / "c").hashes) == 20


def test_torture_notices_what_is_lost(tmp_path: Path) -> None:
    run(tmp_path / "c")
    kept = inspect(tmp_path / "c")
    compare(kept, kept)
    with pytest.raises(FuzzgraphError, match="entries lost"):
        compare(kept, Kept(**{**vars(kept), "entries": kept.entries[1:]}))
    with pytest.raises(FuzzgraphError, match="executions went back"):
        compare(kept, Kept(**{**vars(kept), "executions": 0}))
