"""Findings on disk: schema, ranks, groups, known issues, the index; and what a damaged one says."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from fuzzgraph.corpus.lock import DirectoryLock
from fuzzgraph.corpus.schema import DATABASE
from fuzzgraph.errors import EnvironmentProblem, StoreError, UsageError
from fuzzgraph.execution.protocol import Failure, Outcome
from fuzzgraph.grammar import load_rules
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.text import format, parse
from fuzzgraph.triage import known, pipeline, rank, record, trace, verify
from fuzzgraph.triage.folder import Discovery, files
from fuzzgraph.triage.record import Finding
from fuzzgraph.triage.report import report
from fuzzgraph.triage.signature import operator_set, signature
from fuzzgraph.triage.steps import Plan, conclude

TEXT = """fuzzgraph 1
input x: {dtype}[4] values {values}
{option}
def f(x) {{
  a: {dtype}[4] = {op}(x)
  return a
}}
call f(x)
"""
VALUE = Failure("value", "value", "run", "values differ (float32)", "output of call 0: 1.0 in eager, 2.0 compiled")
CPP = Failure("crash", "exception", "cpp", "no matching function", "trace", ("_inductor/x.py:f",), "CppCompileError")
KEYERROR = Failure(
    "crash", "exception", "aot", "bad key", "trace", ("_functorch/x.py:g",), "KeyError", ("A", "KeyError")
)


def program(op: str = "abs", dtype: str = "f32", values: str = "normal", option: str = "") -> Program:
    return parse(TEXT.format(op=op, dtype=dtype, values=values, option=option))


def made(folder: Path, failure: Failure, of: Program, **triage: Any) -> Finding:
    """A finding as a campaign writes it, with what triage would have noted."""
    found = signature(failure, of)
    path = folder / found.id
    path.mkdir(parents=True)
    outcome = Outcome("x", "failure", failures=(failure,), versions={"torch": "2.15.0", "python": "3.13.0"})
    content = files(found, outcome, format(of), "print('a script')\n", Discovery("h", 1, 2, None, (), "inductor", ()))
    for name, text in content.items():
        (path / name).write_text(text)
    finding = record.load(path)
    if triage:
        deflake = {"verdict": "stable", "key": "k", "hits": 5, "runs": 5}
        finding.triage.update({"deflake": deflake, "failure": asdict(failure), **rank.facts(of), **triage})
        finding.triage["signature"] = rank.final_signature(failure, finding.triage)
        finding.triage["title"] = rank.title(failure, finding.triage)
        finding.triage["severity"] = rank.SEVERITIES[rank.severity(failure, of)]
        finding.triage["rank"] = rank.rank(failure, of, "stable")
        finding.save()
    return finding


def ladder(rung: str) -> dict[str, Any]:
    return {"rung": rung, "steps": [{"rung": rung, "target": rung, "shows": True, "what": "value: values differ"}]}


def bisected(subsystem: str, info: str) -> dict[str, Any]:
    return {"backend": "inductor", "subsystem": subsystem, "count": 2, "info": info, "note": ""}


def test_what_a_campaign_writes_and_triage_adds_follows_the_schema(tmp_path: Path) -> None:
    rows = [{"setting": "dynamic=True", "verdict": "gone", "detail": ""}]
    finding = made(tmp_path, VALUE, program(), ladder=ladder("inductor"), bisect=bisected("lowerings", "abs"),
                   ablation=rows, repro={"status": 1, "output": "", "artifacts": []})  # fmt: skip
    data = json.loads((finding.path / "finding.json").read_text())
    assert list(record.problems(data, record.schema())) == []
    assert record.load(finding.path).failure == VALUE


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda d: d.pop("failures"), "the file lacks failures"),
        (lambda d: d.update(failures=[]), "it lists no failure"),
        (lambda d: d.update(format=9), "format is 9, not one of [1]"),
        (lambda d: d.update(preload="x"), "preload is no array"),
        (lambda d: d["failures"][0].pop("kind"), "failures[0] lacks kind"),
        (lambda d: d.update(triage={"ablation": [{"setting": "a", "detail": "", "verdict": "maybe"}]}),
         "triage.ablation[0].verdict is 'maybe'"),
    ],
)  # fmt: skip
def test_a_damaged_finding_is_one_clear_line(tmp_path: Path, damage: Any, said: str) -> None:
    finding = made(tmp_path, VALUE, program())
    damage(finding.data)
    finding.save()
    with pytest.raises(UsageError) as caught:
        record.load(finding.path)
    assert said in str(caught.value) and "finding.json" in str(caught.value)
    findings, errors = record.load_all(tmp_path)
    assert (findings, len(errors)) == ([], 1)


def test_no_json_at_all(tmp_path: Path) -> None:
    finding = made(tmp_path, VALUE, program())
    (finding.path / "finding.json").write_text("{")
    with pytest.raises(UsageError, match="not readable"):
        record.load(finding.path)


@pytest.mark.parametrize(
    ("failure", "option", "severity"),
    [
        (VALUE, "", "silent wrong result"),
        (VALUE, "option config.inductor.cpp.simdlen = 1", "unusual configuration"),
        (Failure("gradient", "gradient"), "", "wrong gradient or lost mutation"),
        (Failure("aliasing", "mutation"), "", "wrong gradient or lost mutation"),
        (Failure("structure", "python"), "", "wrong gradient or lost mutation"),
        (KEYERROR, "", "crash on a valid program"),
        (Failure("value", "zero_sign"), "", "wrong metadata"),
        (Failure("fake", "dtype"), "", "wrong metadata"),
        (Failure("missed_error", "missed"), "", "missed error"),
        (Failure("missed_error", "missed", "run", "RuntimeError is not raised"), "", "missed error"),
        (Failure("missed_error", "missed", "run", "NotImplementedError is not raised"), "", "eager has no kernel"),
    ],
)
def test_severity(failure: Failure, option: str, severity: str) -> None:
    assert rank.SEVERITIES[rank.severity(failure, program(option=option))] == severity


def test_ordinary_inputs_come_first(tmp_path: Path) -> None:
    usual, odd = program(), program("neg", values="edge(0.5)")
    assert rank.ordinary_inputs(usual) and not rank.ordinary_inputs(odd)
    assert not rank.ordinary_inputs(program(values="data(1.0, inf)"))
    assert rank.ordinary_inputs(program(values="data(0.0, -2.5)"))
    flaky = rank.rank(VALUE, usual, "not confirmed")
    assert sorted([flaky, rank.rank(VALUE, odd, "stable"), rank.rank(VALUE, usual, "stable")]) == [
        rank.rank(VALUE, usual, "stable"), rank.rank(VALUE, odd, "stable"), flaky,
    ]  # fmt: skip


def test_groups_keep_all_and_name_the_first(tmp_path: Path) -> None:
    inductor = ladder("inductor")
    a = made(tmp_path, VALUE, program("abs"), ladder=inductor, bisect=bisected("lowerings", "abs_1"))
    b = made(tmp_path, VALUE, program("abs", "f16"), ladder=inductor, bisect=bisected("lowerings", "abs_2"))
    c = made(tmp_path, VALUE, program("neg"), ladder=inductor, bisect=bisected("post_grad_passes", "x"))
    d = made(tmp_path, KEYERROR, program("abs"), ladder=ladder("aot"))
    rank.assign_groups([d, c, b, a])
    assert a.triage["group"] == b.triage["group"] in (a.id, b.id)
    assert (c.triage["group"], d.triage["group"]) == (c.id, d.id)
    text = pipeline.index_text(rank.ordered([d, c, b, a]))
    assert "4 findings: 3 distinct, 1 likely duplicates, 0 known." in text
    assert text.index("## Silent wrong result") < text.index("## Crash on a valid program")
    assert "\n  - [[inductor] abs on float" in text


def test_exceptions_go_by_their_frames_and_the_rest_by_cause(tmp_path: Path) -> None:
    facts = {"ladder": ladder("inductor"), "bisect": bisected("lowerings", "abs_3"), **rank.facts(program())}
    assert rank.final_signature(VALUE, facts) == (
        "value|value|run||values differ|inductor|inductor lowerings abs|abs|float"
    )
    assert rank.final_signature(KEYERROR, facts).endswith("|A>KeyError")
    assert "abs" not in rank.final_signature(KEYERROR, facts)


FORMS = """fuzzgraph 1
input x: {dtype}[4] values normal
def f(x) {{
  form python_fact("{fact}") {{
    a: {dtype}[4] = abs(x)
  }}
  return a
}}
call f(x)
"""


def test_of_dynamo_the_forms_count(tmp_path: Path) -> None:
    """They are what it reads: two facts of Python that it gets wrong are two bugs. Behind it they are not."""
    shape = Failure("metadata", "shape", "run", "shapes differ")
    programs = [parse(FORMS.format(fact=fact, dtype=d)) for fact, d in (("partials", "f32"), ("enums", "f64"))]
    a, b = (made(tmp_path, shape, p, ladder=ladder("dynamo")) for p in programs)
    rank.assign_groups([a, b])
    assert a.triage["group"] != b.triage["group"]
    assert a.triage["forms"] == ["python_fact partials"]
    assert a.triage["title"] == "[dynamo] abs on float32 in python fact partials: wrong metadata (shape)"
    c, d = (made(tmp_path / "behind", shape, p, ladder=ladder("aot")) for p in programs)
    rank.assign_groups([c, d])
    assert c.triage["group"] == d.triage["group"] and "python" not in c.triage["title"]


def test_known_issues_of_a_form(tmp_path: Path) -> None:
    found = entries(tmp_path, '[issue.5]\nlink = "x"\nforms = ["python_fact partials"]\n')
    assert found.find(VALUE, parse(FORMS.format(fact="partials", dtype="f32"))).name == "5"  # type: ignore[union-attr]
    assert found.find(VALUE, parse(FORMS.format(fact="enums", dtype="f32"))) is None
    assert found.find(VALUE, program()) is None


KNOWN = """[issue.1]
link = "https://example.org/1"
operators = ["abs"]
oracle = "value"
dtypes = ["f32"]
[issue.2]
link = "https://example.org/2"
signature = "bad .ey"
[issue.3]
link = "https://example.org/3"
message = "no matching .unction"
"""


def entries(tmp_path: Path, text: str = KNOWN) -> known.KnownIssues:
    (tmp_path / "known.toml").write_text(text)
    return known.load([tmp_path / "known.toml"], with_shipped=False)


def test_known_issues_match_by_predicate_signature_or_message(tmp_path: Path) -> None:
    found = entries(tmp_path)
    assert found.find(VALUE, program()).name == "1"  # type: ignore[union-attr]
    assert found.find(VALUE, program(dtype="f64")) is None
    assert found.find(VALUE, program("neg")) is None
    assert found.find(KEYERROR, program("neg")).name == "2"  # type: ignore[union-attr]
    assert found.find(CPP, program("neg")).name == "3"  # type: ignore[union-attr]
    big = TEXT.replace("return a", "b: f32[4] = neg(a)\n  c: f32[4] = sin(b)\n  d: f32[4] = cos(c)\n  return d")
    assert found.find(VALUE, parse(big.format(op="abs", dtype="f32", values="normal", option=""))) is None


def test_known_issues_match_by_variant(tmp_path: Path) -> None:
    """Also after triage, which makes the variant's program, and the failure of that, what the finding is about."""
    found = entries(tmp_path, '[issue.1]\nlink = "one"\noracle = "guard"\nvariant = "shared storage"\n')
    alone, both = (replace(VALUE, oracle="guard", variant=f"shared storage{end}") for end in (" alone", ""))
    assert found.find(alone, program()) is None and found.find(both, program()).name == "1"  # type: ignore[union-attr]
    finding = made(tmp_path, both, program(), ladder=ladder("aot"))
    finding.triage["failure"] = asdict(VALUE)
    conclude(finding, found)
    assert finding.triage["known"] == "one"


def test_a_known_failure_hides_no_other_of_the_same_run(tmp_path: Path) -> None:
    """A run may fail in several ways, the first of which need not be what a finding is about."""
    found = entries(tmp_path, '[issue.1]\nlink = "one"\noracle = "guard"\nvariant = "shared storage"\n')
    other = replace(KEYERROR, variant="layout alone")
    finding = made(tmp_path, other, program(), ladder=ladder("aot"))
    finding.data["failures"].insert(0, asdict(replace(VALUE, oracle="guard", variant="shared storage")))
    assert finding.seen == other
    conclude(finding, found)
    assert finding.triage["known"] is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[issue.1]\noperators = ['a']", "lacks a link"),
        ("[issue.1]\nlink = 'x'", "matches everything"),
        ("[issue.1]\nlink = 'x'\noperator = 'a'", "unknown key 'operator'"),
        ("[issue.1]\nlink = 'x'\noperators = 'a'", "operators must be a list of texts"),
        ("[issue.1]\nlink = 'x'\nsignature = '('", "signature is no regular expression"),
        ("[issue.1]\nlink = 'x'\nmessage = '('", "message is no regular expression"),
        ("[bug.1]\nlink = 'x'", "unknown table 'bug'"),
        ("[issue.1", "not a TOML file"),
    ],
)
def test_bad_known_issues_are_one_clear_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        entries(tmp_path, text)
    assert said in str(caught.value) and "known.toml" in str(caught.value)


def test_the_shipped_file_reads_and_its_programs_render() -> None:
    issues = known.load().issues
    book = load_rules()
    assert len(issues) >= 15
    for issue in issues:
        assert issue.link.startswith("https://github.com/pytorch/pytorch/issues/")
        if issue.program:
            assert set(issue.operators) <= set(operator_set(parse(issue.program))), issue.name
        if issue.program or issue.script:
            compile(verify.script_of(issue, book), issue.name, "exec")


def test_report_has_the_forms_order_and_says_what_was_not_done(tmp_path: Path) -> None:
    rows = [{"setting": "dynamic=True", "verdict": "still fails", "detail": ""},
            {"setting": "cpp.simdlen=1", "verdict": "gone", "detail": "scalar | code"}]  # fmt: skip
    repro = {"status": 1, "output": "['results'][0]: differ", "artifacts": []}
    finding = made(tmp_path, VALUE, program(), ladder=ladder("inductor"), bisect=bisected("lowerings", "abs"),
                   ablation=rows, repro=repro)  # fmt: skip
    text = report(finding, "PyTorch version: 2.15.0")
    heads = ["Search the tracker first", "Title: **[inductor] abs on float32: wrong result**", "### Describe the bug",
             "### Error logs", "### Minimal repro", "### Ablation", "### Versions"]  # fmt: skip
    assert [text.index(head) for head in heads] == sorted(text.index(head) for head in heads)
    assert "It goes away with `cpp.simdlen=1`." in text
    assert "scalar \\| code" in text
    assert "inductor / lowerings / abs (application 2)" in text
    bare = report(made(tmp_path / "bare", VALUE, program(), ladder=ladder("inductor")), "")
    assert "### Ablation" not in bare and "reduced from" not in bare


LOG = """V1129 {"dynamo_start": {"stack": []}, "frame_id": 0}
V1129 {"inductor_output_code": {"filename": "/x.py"}, "has_payload": "md5"}
\tfirst line
\t
\tthird line
V1129 {"other": {}, "has_payload": "md5"}
\tno code
V1129 {"inductor_output_code": {}, "has_payload": "md5"}
\tsecond graph
V1129 {"inductor_output_code": {}, "has_pay"""


def test_generated_code_is_taken_from_the_trace(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "a.log").write_text(LOG)
    (tmp_path / "traces" / "eager.log").write_text('V1129 {"str": []}\n')
    assert trace.keep(tmp_path / "traces", tmp_path) == ["trace", "output_code.py"]
    code = (tmp_path / "output_code.py").read_text()
    assert code == "first line\n\nthird line\n\n\n# ---- next graph ----\n\nsecond graph\n"
    assert os.listdir(tmp_path / "trace") == ["a.log"]


def python(tmp_path: Path, body: str) -> str:
    """An interpreter that is none."""
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("status", "before", "verdict"),
    [(1, 1, "still there"), (1, None, "still there"), (1, 0, "new"), (0, 1, "fixed"), (125, 1, "undecided"),
     (7, 1, "undecided")],
)  # fmt: skip
def test_verify(tmp_path: Path, status: int, before: int | None, verdict: str) -> None:
    finding = made(tmp_path, VALUE, program(), repro={"status": before, "output": "", "artifacts": []})
    (finding.path / "repro.py").write_text(f"import sys\nprint('words')\nsys.exit({status})\n")
    found = verify.verify(verify.scripts(tmp_path), sys.executable)
    assert [(v.id, v.verdict, v.status) for v in found] == [(finding.id, verdict, status)]
    assert found[0].detail == ("words" if verdict == "undecided" else "")


def test_a_python_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not start"):
        verify.torch_of(str(tmp_path / "missing"))
    with pytest.raises(EnvironmentProblem, match="cannot import torch: no torch here"):
        verify.torch_of(python(tmp_path, "echo no torch here >&2; exit 1"))


def test_nothing_to_verify_or_to_triage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no repro\.py here"):
        verify.scripts(tmp_path)
    with pytest.raises(UsageError, match="no findings here"):
        pipeline.triage(tmp_path, Plan())
    with pytest.raises(UsageError, match="no such directory"):
        pipeline.triage(tmp_path / "missing", Plan())


def test_a_campaign_without_findings_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / DATABASE).touch()
    assert verify.scripts(tmp_path) == []
    result = pipeline.triage(tmp_path, Plan())
    assert result.findings == [] and result.errors == []
    assert (tmp_path / "findings" / "index.md").read_text().startswith("# Findings\n\n0 findings")


def test_one_triage_at_a_time(tmp_path: Path) -> None:
    made(tmp_path, VALUE, program())
    lock = DirectoryLock(tmp_path, pipeline.LOCK, "triage")
    lock.acquire()
    try:
        with pytest.raises(StoreError, match="triage is running in this directory"):
            pipeline.triage(tmp_path, Plan())
    finally:
        lock.release()


@pytest.mark.parametrize("slow_start", [0, 1])
def test_an_interrupted_verify_leaves_nothing_running(
    slow_start: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a script that runs by then, nor one that a thread is just starting."""
    real = subprocess.Popen

    def popen(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] = real(command, **options)
        time.sleep(slow_start if options["cwd"].name == "1" else 0)
        return process

    monkeypatch.setattr(subprocess, "Popen", popen)
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        script = "import time\ntime.sleep(600)\n" if number else "import sys\nsys.exit(1)\n"
        (tmp_path / str(number) / "repro.py").write_text(script)

    def stop(verdict: verify.Verdict) -> None:
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        verify.verify(verify.scripts(tmp_path), sys.executable, jobs=2, done=stop)
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("said", ["exit 0", r"printf '\377'", "echo hello"])
def test_what_is_no_python_is_said(said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no Python"):
        verify.torch_of(python(tmp_path, said))


def test_a_damaged_finding_does_not_keep_the_others_from_being_verified(tmp_path: Path) -> None:
    for name, content in (("a", "garbage"), ("b", None)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "repro.py").write_text("")
        if content is not None:
            (tmp_path / name / "finding.json").write_text(content)
    first, second = verify.verify(verify.scripts(tmp_path), python(tmp_path, "exit 1"))
    assert (first.verdict, second.verdict) == (verify.UNDECIDED, verify.STILL)
    assert "finding.json: not readable" in first.detail


@pytest.mark.parametrize("name", ["../../x", "a/b", "a\0", "x" * 300, ""])
def test_an_issue_may_have_any_name(name: str, tmp_path: Path) -> None:
    issue = known.Issue(name, "link", oracle="value", script="import sys")
    [verdict] = verify.verify_issues([issue], load_rules(), python(tmp_path, "exit 1"))
    assert (verdict.id, verdict.verdict) == (name, verify.STILL)


def test_another_torch_begins_anew(tmp_path: Path) -> None:
    said: list[str] = []
    old = made(tmp_path / "a", VALUE, program(), torch="2.13.0")
    same = made(tmp_path / "b", VALUE, program(), torch="2.15.0")
    fresh = made(tmp_path / "c", VALUE, program())
    pipeline.begin_anew([old, same, fresh], "2.15.0", said.append)
    assert ("triage" in old.data, same.triage["torch"]) == (False, "2.15.0")
    assert said == [f"{old.id}: was triaged with torch 2.13.0, begins anew with 2.15.0"]
