"""Measuring planted faults: what is expected of one, what a row says, and how a trigger is hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzgraph.errors import UsageError
from fuzzgraph.execution.protocol import Failure, Outcome
from fuzzgraph.experiment.faults import Measuring, Row, component, expected_rung, main, text
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.text import parse
from fuzzgraph.rng import Streams
from fuzzgraph.triage.workshop import Workshop

FAULT = '"""A fault."""\nKIND = "crash"\nCOMPONENT = "_decomp/decompositions.py"\n\n\ndef apply():\n    pass\n'
TRIGGER = """fuzzgraph 1
input x: f32[4, 3] values normal

def f(x) {
  a: f32[4, 3] = clamp(x, -0.5, 0.5)
  return a
}
call f(x)
"""
WRONG = Failure("value", "value", "run", "values differ (float32)")


def test_a_fault_says_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FAULT)
    assert component(tmp_path / "a.py") == "_decomp/decompositions.py"
    (tmp_path / "b.py").write_text("def apply():\n    COMPONENT = 1\n")
    assert component(tmp_path / "b.py") == ""
    (tmp_path / "c.py").write_text("def apply(:\n")
    with pytest.raises(UsageError, match="no Python file"):
        component(tmp_path / "c.py")


@pytest.mark.parametrize(
    ("where", "rung"),
    [
        ("_dynamo/side_effects.py", "dynamo"),
        ("_dynamo/guards.py", ""),
        ("_functorch/_aot_autograd/functional_utils.py", "aot"),
        ("_decomp/decompositions.py", "decomp"),
        ("_inductor/decomposition.py", "decomp"),
        ("_inductor/lowering.py", "inductor"),
        ("nn/functional.py", ""),
        ("", ""),
    ],
)
def test_the_rung_follows_from_the_file(where: str, rung: str) -> None:
    assert expected_rung(where) == rung


def test_a_row_is_good_if_it_is_small_and_at_the_right_place() -> None:
    row = Row("a", 2, 20, 5, 30, "decomp", "decomp", "decomp / cse", "`clamp`", 40.0)
    assert row.good
    assert text(row).startswith("ok  a: 2 in 20 -> 5 operators, 30 runs, 40 CPU s\n      rung    decomp\n")
    assert not Row("a", 2, 20, 6, 30, "decomp", "decomp").good
    assert not Row("a", 2, 20, 5, 30, "inductor", "decomp").good
    assert "inductor, expected decomp" in text(Row("a", 2, 20, 5, 30, "inductor", "decomp"))
    assert Row("a", 2, 20, 5, 30, "inductor", "").good
    assert not Row("a", 2, 20, 5, 30, "", "").good
    assert text(Row("a", problem="not confirmed")) == "BAD a: not confirmed"


def test_no_fault_with_a_trigger(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FAULT)
    with pytest.raises(UsageError, match="no fault that has a trigger"):
        main([str(tmp_path), str(tmp_path)])


@pytest.mark.once
def test_a_trigger_is_hidden_where_it_still_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(program: Program, fault: Path | None) -> Outcome:
        shows = fault is not None and any(n.meta["op"] == "clamp" for n in program.nodes())
        return Outcome("0", "failure", failures=(WRONG,)) if shows else Outcome("0", "ok")

    with Workshop(60.0) as workshop:
        made = []
        for _ in range(2):
            measuring = Measuring(tmp_path, workshop, Streams(3), 12)
            monkeypatch.setattr(measuring, "run", run)
            program = parse(TRIGGER, workshop.infer, workshop.book.check)
            made.append(measuring.padded(program, run(program, tmp_path), WRONG, tmp_path / "a.py"))
    (padded, outcome), (again, _) = made
    assert outcome.failures == (WRONG,)
    assert 8 <= padded.size <= 12
    assert any(n.meta["op"] == "clamp" for n in padded.nodes())
    assert [n.name for n in again.nodes()] == [n.name for n in padded.nodes()]
