"""How many programs that compiled have each trait: counted once a program, kept over a resume, and shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fuzzgraph.campaign import summary
from fuzzgraph.campaign.config import Config
from fuzzgraph.campaign.directory import prepare
from fuzzgraph.campaign.events import Executed
from fuzzgraph.campaign.session import opened
from fuzzgraph.campaign.tally import Tally
from fuzzgraph.campaign.task import Origin, Task
from fuzzgraph.campaign.traits import Shares, TraitCounter, compiled, text
from fuzzgraph.cli import main
from fuzzgraph.execution.protocol import Failure, Outcome
from fuzzgraph.ir.program import Program
from tests.campaign.fakes import FakeExecutor, parts, program

CRASH = Failure("crash", "exception", "inductor", "it broke")
WRONG = Failure("value", "value", "run", "values differ")


def task(of: Program, first: bool = True) -> Task:
    return Task(1, of, "hash", Origin("generate"), "cover", first)


@pytest.mark.parametrize(
    ("outcome", "did"),
    [
        (Outcome("1", "ok"), True),
        (Outcome("1", "unstable"), True),
        (Outcome("1", "failure", "run", (WRONG,)), True),
        (Outcome("1", "failure", "inductor", (CRASH,)), False),
        (Outcome("1", "invalid", "reference"), False),
        (Outcome("1", "timeout", "subject"), False),
        (Outcome("1", "lost", "harness"), False),
    ],
)
def test_which_programs_compiled(outcome: Outcome, did: bool) -> None:
    assert compiled(outcome) is did


def test_each_program_counts_once() -> None:
    tally = Tally()
    count = TraitCounter(tally, lambda of: {"dtype/i16", "memory/view"})
    for event in (
        Executed(task(program()), Outcome("1", "ok"), 0, False),
        Executed(task(program(), first=False), Outcome("1", "ok"), 0, True),
        Executed(task(program()), Outcome("1", "invalid", "reference"), 0, True),
        Executed(task(program().with_options(expects_error=True)), Outcome("1", "invalid", "reference"), 0, True),
    ):
        count(event)
    assert tally.values == {
        "compiled": 1, "trait/dtype/i16": 1, "trait/memory/view": 1, "trait/option/expects_error": 1,
    }  # fmt: skip


def test_shares() -> None:
    shares = Shares(1000, {"dtype": {"f32": 500, "i8": 1}, "gone": {"old": 3}})
    whole = shares.completed({"dtype": ("i8", "u8", "f32")})
    assert list(whole.counts["dtype"].items()) == [("i8", 1), ("u8", 0), ("f32", 500)]
    assert whole.counts["gone"] == {"old": 3}
    assert whole.rare == ["dtype: i8", "dtype: u8"]
    shown = text(whole)
    assert "dtype      i8 0.1%, u8 0.0%, f32 50.0%\n" in shown and shown.endswith("below 0.2% dtype: i8, dtype: u8")
    assert text(Shares(10, {"dtype": {"f32": 10}})).endswith("all of them have at least 0.2%")
    assert Shares(0, {"dtype": {"f32": 0}}).share("dtype", "f32") == 0.0


def conduct(directory: Path, programs: int) -> None:
    def described(*args: Any) -> Any:
        made = parts(*args, executor=FakeExecutor())
        return replace(made, traits=lambda of: {f"dtype/{of.inputs[0].type.dtype}"})

    prepare(directory, resume=directory.exists())
    with opened(directory, Config(seed=7, programs=programs), described, None) as session:
        session.campaign.run()


def test_a_resumed_campaign_goes_on_counting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for programs in (40, 100):
        conduct(tmp_path / "c", programs)
        standing = summary.read(tmp_path / "c")
        assert standing.traits.counts == {"dtype": {"i16": standing.traits.compiled}}
        assert 0 < standing.traits.compiled <= standing.valid <= programs
    assert main(["status", str(tmp_path / "c"), "--features"]) == 0
    shown = capsys.readouterr().out
    assert "i16 100.0%" in shown and "form: walrus" in shown
    assert main(["status", str(tmp_path / "c"), "--features", "--json"]) == 0
    traits = json.loads(capsys.readouterr().out)["traits"]
    assert traits["counts"]["dtype"]["u8"] == 0 and traits["compiled"] == standing.traits.compiled
    assert main(["status", str(tmp_path / "c")]) == 0
    assert "traits" not in capsys.readouterr().out
