"""Findings that become regression programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzgraph.errors import UsageError
from fuzzgraph.execution.protocol import Failure
from fuzzgraph.triage import keeping, rank, regression
from tests.triage.test_findings import VALUE, bisected, ladder, made, program

TITLE = 'values "differ" \x7f\\ ünïcode'


def test_a_finding_is_expected_from_its_torch_on(tmp_path: Path) -> None:
    finding = made(tmp_path, VALUE, program(), torch="2.15.0+cu130", known="https://example.org/1")
    finding.triage["title"] = TITLE
    path = keeping.keep(finding, tmp_path / "kept")
    (kept,) = regression.load(tmp_path / "kept")
    assert (kept.path, kept.title, kept.issue) == (path, TITLE, "https://example.org/1")
    assert kept.expected("2.14.1", "inductor") is None
    expected = kept.expected("2.16.0.dev1", "inductor")
    assert expected is not None and expected.verdict == "value value"
    assert keeping.keep(finding, tmp_path / "kept") is None


def test_what_is_worth_keeping_and_what_cannot_be_kept(tmp_path: Path) -> None:
    facts = {"torch": "2.15.0", "ladder": ladder("inductor"), "bisect": bisected("lowerings", "abs")}
    good = made(tmp_path, VALUE, program("abs"), **facts)
    twin = made(tmp_path, VALUE, program("abs", "f16"), **facts)
    known = made(tmp_path, VALUE, program("neg"), **facts, known="https://example.org/1")
    lost = made(tmp_path, VALUE, program("sin"), **facts)
    lost.triage["deflake"]["verdict"] = "not confirmed"
    planted = made(tmp_path, Failure("value", "value", "run", "other values"), program("cos"), **facts)
    planted.data["preload"] = ["fault.py"]
    new = made(tmp_path, VALUE, program("tan"))
    everything = [good, twin, known, lost, planted, new]
    rank.assign_groups([f for f in everything if f is not new])
    first = good if good.triage["group"] == good.id else twin
    assert keeping.worth_keeping(everything) == [first]
    for finding, said in ((lost, "did not come again"), (planted, "under a preload"), (new, "not triaged")):
        with pytest.raises(UsageError, match=f"{finding.id}: cannot be kept: .*{said}"):
            keeping.keep(finding, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
