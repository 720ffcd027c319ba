"""Regression programs: reading, matching, strictness, shards, JUnit."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fuzzgraph.errors import UsageError
from fuzzgraph.execution.protocol import ErrorInfo, Failure, Outcome
from fuzzgraph.resources import data_dir
from fuzzgraph.triage.regression import Expectation, Regression, Result, junit, load, problem, shard

OK = Outcome("j", "ok")
WRONG = Outcome("j", "failure", failures=(Failure("value", "value", "run", "values differ (int8)", "[1]: 2 in eager"),))
RAISES = Outcome("j", "invalid", "reference", error=ErrorInfo("RuntimeError", "no"), missed=True)
UNSTABLE = Outcome("j", "unstable", error=ErrorInfo("Unstable", "an ulp"))
INVALID = Outcome("j", "invalid", "reference", error=ErrorInfo("RuntimeError", "no"))


@pytest.mark.parametrize(
    ("expected", "outcome", "said"),
    [
        (Expectation("ok"), OK, ""),
        (Expectation("ok"), WRONG, "expected ok, got value value"),
        (Expectation("value"), WRONG, ""),
        (Expectation("value value", match="int8"), WRONG, ""),
        (Expectation("value value", match="in eager"), WRONG, ""),
        (Expectation("value", match="float"), WRONG, "expected value with 'float', got values differ (int8)"),
        (Expectation("value"), OK, "expected value, got ok: is it fixed?"),
        (Expectation("crash"), WRONG, "expected crash, got value value"),
        (Expectation("ok"), INVALID, "expected ok, got invalid"),
        (Expectation("ok"), RAISES, ""),
        (Expectation("unstable"), UNSTABLE, ""),
        (Expectation("unstable"), OK, "expected unstable, got ok"),
        (Expectation("ok"), UNSTABLE, "expected ok, got unstable"),
    ],
)
def test_verdicts_are_strict(expected, outcome, said):
    assert problem(expected, outcome) == said


def test_the_first_expectation_that_holds_counts():
    found = Regression("r", Path("r.fg"), "", "", (Expectation("ok", ">=2.15"), Expectation("value", "<2.15")))
    assert found.expected("2.15.0+cu130", "inductor").verdict == "ok"
    assert found.expected("2.13.0+cpu", "inductor").verdict == "value"
    assert found.expected("2.16.0.dev20261101", "inductor").verdict == "ok"
    assert found.expected("2.13.0", "aot_eager") is None
    assert found.expected("unknown", "inductor") is None


def test_each_program_is_in_one_shard():
    items = [Regression(str(i), Path("x"), "", "", ()) for i in range(7)]
    parts = [shard(items, i, 3) for i in (1, 2, 3)]
    assert sorted(r.name for part in parts for r in part) == [str(i) for i in range(7)]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_junit():
    one = Regression("one", Path("one.fg"), "", "https://example.org/1", (Expectation("ok"),))
    failed = Result(one, "eager", problem="bad", output="a\x00b<")
    results = [Result(one, "inductor"), failed, Result(one, "x", skipped="s")]
    suite = ET.fromstring(junit(results, "2.15.0"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    names = [c.get("classname") for c in suite.iter("testcase")]
    assert names == ["fuzzgraph.inductor", "fuzzgraph.eager", "fuzzgraph.x"]
    assert suite.find(".//failure").get("message") == "bad"
    assert suite.find(".//failure").text == "https://example.org/1\na?b<"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file"),
        ("title = ", "not a TOML file"),
        ('[[expect]]\nverdict = "vlaue"', "no verdict: 'vlaue'"),
        ("title = 'x'", "no [[expect]]"),
        ("[[expect]]\ntarget = 'eager'", "without a verdict"),
        ("[[expect]]\nverdict = 'ok'\ntorch = 'new'", "no version specifier"),
        ("[[expect]]\nverdict = 'ok'\nmatch = '('", "no regular expression"),
        ("[[expect]]\nverdict = 'ok'\nwhen = 'now'", "unknown key 'when'"),
        ("[[expect]]\nverdict = 'ok'\nmatch = 3", "match is not text"),
        ("limit = 'long'\n[[expect]]\nverdict = 'ok'", "limit is not a number of seconds: 'long'"),
        ("titel = 'x'\n[[expect]]\nverdict = 'ok'", "unknown key 'titel'"),
    ],
)
def test_bad_descriptions(tmp_path, text, said):
    (tmp_path / "a.fg").write_text("fuzzgraph 1\n")
    if text is not None:
        (tmp_path / "a.toml").write_text(text)
    with pytest.raises(UsageError, match=said.replace("[", r"\[")) as caught:
        load(tmp_path)
    assert "a.toml" in str(caught.value)


def test_a_limit_of_its_own(tmp_path):
    (tmp_path / "a.fg").write_text("fuzzgraph 1\n")
    (tmp_path / "a.toml").write_text("limit = 20\n[[expect]]\nverdict = 'crash timeout'")
    assert [r.limit for r in load(tmp_path)] == [20.0]


def test_bad_folders(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError):
            load(folder)


def test_those_that_are_shipped_can_be_read():
    found = load(data_dir("corpus") / "regressions")
    assert len(found) >= 14
    assert all(r.title for r in found)
