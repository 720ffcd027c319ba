"""Triage on the real compiler: a planted fault is localized; a true bug goes from a campaign's finding to a report."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzzgraph import cli
from fuzzgraph.errors import FuzzgraphError
from fuzzgraph.execution.protocol import Outcome
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.text import format, parse
from fuzzgraph.triage import pipeline, record, steps, verify
from fuzzgraph.triage.ablation import FAILS, GONE, NOT_HERE, SETTINGS, Setting, ablate
from fuzzgraph.triage.bisection import bisect
from fuzzgraph.triage.folder import Discovery, files
from fuzzgraph.triage.ladder import find_rung
from fuzzgraph.triage.matching import Shows
from fuzzgraph.triage.node import first_node
from fuzzgraph.triage.reproducer import script
from fuzzgraph.triage.signature import signature
from fuzzgraph.triage.steps import Plan
from fuzzgraph.triage.workshop import Workshop

pytestmark = [pytest.mark.compiles, pytest.mark.timeout(900)]

# Inductor computes the cosine for the sine.
FAULT = """
def apply():
    import torch
    from torch._inductor import lowering

    lowering.lowerings[torch.ops.aten.sin.default] = lowering.lowerings[torch.ops.aten.cos.default]
"""
# Inductor dies at a sine.
KILL = """
def apply():
    import os
    import torch
    from torch._inductor import lowering

    lowering.lowerings[torch.ops.aten.sin.default] = lambda *args: os.abort()
"""
SINE = """fuzzgraph 1
input x: f32[8] values normal
def f(x) {
  a: f32[8] = exp(x)
  b: f32[8] = sin(a)
  return b
}
call f(x)
"""
# A C++ compile error of every torch so far: min_propagate_nan(int&, short&).
SHORT = """fuzzgraph 1
input x: i16[5] values ints(-3, 3)
input y: f32[4] values normal
def f(x, y) {
  e: f32[4] = exp(y)
  a: i16[5] = abs(x)
  b: i16[5] = minimum(a, x)
  c: f32[4] = sin(e)
  return (b, c)
}
call f(x, y)
"""

# An overlapping view that is written: functionalization adds to each element once, eager to some twice.
OVERLAP = """fuzzgraph 1
input x: f32[4] values arange(0.0, 1.0)
def f(x) {
  c: f32[4] = clone(x)
  v: f32[2, 2][1, 1] &c = as_strided(c, (2, 2), (1, 1), 0)
  w: f32[2, 2][1, 1] &c = Tensor.add_(v, 1.0)
  y: f32[2, 2] = exp(w)
  return y
}
call f(x)
"""

# Inductor does not write to inputs.
UNWRITTEN = """
def apply():
    import torch
    from torch._inductor import lowering

    lowering.lowerings[torch.ops.aten.copy_.default] = lambda dst, *rest: dst
"""
WRITES = """fuzzgraph 1
input x: f32[8] values normal
input y: f32[4] values normal
def f(x, y) {
  e: f32[4] = exp(y)
  w: f32[8] &x = Tensor.add_(x, 1)
  return e
}
call f(x, y)
"""
# The decomposition of batch_norm makes another running variance.
VARIANCE = """
def apply():
    from torch._decomp import decompositions

    right = decompositions.native_batch_norm_helper

    def wrong(*args):
        *found, variance = right(*args)
        return (*found, variance * 2)

    decompositions.native_batch_norm_helper = wrong
"""
STATISTICS = """fuzzgraph 1
input x: f32[4, 3] values normal
input m: f32[3] values full(0.0)
input v: f32[3] values full(1.0)
def f(x, m, v) {
  e: f32[4, 3] = exp(x)
  b: f32[4, 3] = nn.functional.batch_norm(e, m, v, None, None, True)
  return b
}
call f(x, m, v)
"""
# Inductor computes the cosine for the sine where the graph has several results.
CROWD = """
def apply():
    import torch
    from torch._inductor import lowering
    from torch._inductor.virtualized import V

    right, wrong = (lowering.lowerings[op] for op in (torch.ops.aten.sin.default, torch.ops.aten.cos.default))

    def sine(x):
        crowd = len(V.graph.module.graph.output_node().args[0]) > 1
        return (wrong if crowd else right)(x)

    lowering.lowerings[torch.ops.aten.sin.default] = sine
"""
RESULTS = SINE.replace("return b", "return (a, b)")
CHANCE = SINE.replace("  b:", "  r: f32[8] = rand_like(x)\n  b:").replace("return b", "return (r, b)")
# Inductor divides by the size that it saw first.
LATE = """
def apply():
    import torch
    from torch._inductor import lowering
    from torch._inductor.virtualized import V

    def mean(x, dims, keep=False, *, dtype=None):
        sizes = V.graph.sizevars
        hint = getattr(sizes, "optimization_hint", None) or sizes.size_hint
        total = lowering.lowerings[torch.ops.aten.sum.dim_IntList](x, dims, keep)
        return lowering.lowerings[torch.ops.aten.mul.Tensor](total, 1 / int(hint(x.get_size()[dims[0]])))

    lowering.lowerings[torch.ops.aten.mean.dim] = mean
"""
LATER = """fuzzgraph 1
input x: f32[4, 3] values full(1.0) dynamic(0)
input y: f32[6, 3] values full(1.0) dynamic(0)
option dynamic = True
def f(x) {
  s: f32[3] = mean(x, 0)
  e: f32[3] = exp(s)
  return e
}
call f(x)
call f(y)
"""


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    with Workshop(60.0) as made:
        yield made


def test_a_node_before_inductor(workshop: Workshop) -> None:
    job = workshop.job("overlap", parse(OVERLAP), "inductor")
    (outcome,) = workshop.run([job], [])
    node = first_node(lambda jobs: workshop.run(jobs, []), job, outcome.failures[0], "aot")
    assert (node.graph, node.operator, node.direction) == ("aot", "add_", "forward")


def test_a_node_that_does_not_compile_and_one_that_kills(workshop: Workshop, tmp_path: Path) -> None:
    job = workshop.job("short", parse(SHORT), "inductor")
    (outcome,) = workshop.run([job], [])
    node = first_node(lambda jobs: workshop.run(jobs, []), job, outcome.failures[0], "inductor")
    assert (node.operator, "min_propagate_nan" in node.what) == ("aten.minimum.default", True)
    fault = tmp_path / "kill.py"
    fault.write_text(KILL)
    job = workshop.job("sine", parse(SINE), "inductor")
    (outcome,) = workshop.run([job], [str(fault)])
    assert outcome.status == "signal"
    node = first_node(lambda jobs: workshop.run(jobs, [str(fault)]), job, outcome.failures[0], "inductor")
    assert (node.operator, node.what) == ("aten.sin.default", "the process ends: SIGABRT")


@pytest.mark.parametrize(
    ("fault", "text", "kind", "rung", "expected"),
    [
        (UNWRITTEN, WRITES, "mutation", "inductor", ("inductor", "aten.copy_.default", "element")),
        (VARIANCE, STATISTICS, "mutation", "decomp", ("aot", "batch_norm", "what it leaves in an input: ")),
        (CROWD, RESULTS, "value", "inductor", ("inductor", "aten.sin.default", "element")),
        (FAULT, CHANCE, "value", "inductor", ("inductor", "aten.sin.default", "element")),
        (LATE, LATER, "value", "inductor", ("inductor", "aten.mean.dim", "in call 1 of this graph, ")),
    ],
)  # fmt: skip
def test_a_node_that_writes_one_among_others_and_one_in_a_later_call(
    workshop: Workshop, tmp_path: Path, fault: str, text: str, kind: str, rung: str, expected: tuple[str, str, str]
) -> None:
    (tmp_path / "fault.py").write_text(fault)

    def run(jobs):  # type: ignore[no-untyped-def]
        return workshop.run(jobs, [str(tmp_path / "fault.py")])

    job = workshop.job("planted", parse(text), "inductor")
    failure = run([job])[0].failures[0]
    assert failure.kind == kind
    assert find_rung(run, job, Shows(failure)).name == rung
    node = first_node(run, job, failure, rung)
    assert (node.graph, node.operator, expected[2] in node.what) == (*expected[:2], True), node


def test_a_planted_fault_is_localized(workshop: Workshop, tmp_path: Path) -> None:
    fault = tmp_path / "fault.py"
    fault.write_text(FAULT)

    def run(jobs):  # type: ignore[no-untyped-def]
        return workshop.run(jobs, [str(fault)])

    job = workshop.job("sine", parse(SINE), "inductor")
    failure = run([job])[0].failures[0]
    assert (failure.oracle, failure.kind) == ("value", "value")
    rung = find_rung(run, job, Shows(failure))
    assert [step.shows for step in rung.steps] == [False, False, False, False, True]
    assert rung.name == "inductor"
    node = first_node(run, job, failure, rung.name)
    assert (node.graph, node.operator, node.line) == ("inductor", "aten.sin.default", "b = torch.sin(a)")
    assert first_node(lambda jobs: workshop.run(jobs, []), job, failure, rung.name).note
    found = bisect(run, job, [failure])
    assert (found.backend, found.subsystem, found.info) == ("inductor", "lowerings", "sin")
    settings = (
        Setting("dynamic=True", {"dynamic": True}), Setting("no such", config={"inductor.no_such_setting": 1}),
        Setting("fallback_by_default", config={"inductor.fallback_by_default": True}),
    )  # fmt: skip
    verdicts = [row.verdict for row in ablate(run, job, Shows(failure), settings)]
    assert verdicts[:2] == [FAILS, NOT_HERE]
    assert verdicts[2] in (GONE, NOT_HERE)  # older torches lack it


def found_by_a_campaign(folder: Path, program: Program, outcome: Outcome) -> Path:
    failure = outcome.failures[0]
    found = signature(failure, program)
    path = folder / "findings" / found.id
    path.mkdir(parents=True)
    text = script(program, None, [failure], title=found.title)
    discovery = Discovery("h", 1, 2, None, (), "inductor", ())
    for name, content in files(found, outcome, format(program), text, discovery).items():
        (path / name).write_text(content)
    return path


def test_from_a_finding_to_a_report(workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # All of them take half a minute.
    monkeypatch.setattr(steps, "settings_for", lambda rung: SETTINGS[:2])
    program = parse(SHORT)
    path = found_by_a_campaign(tmp_path, program, workshop.run_programs([program], "inductor", [])[0])
    said: list[str] = []
    result = pipeline.triage(tmp_path, Plan(seconds=120), say=said.append)
    assert (len(result.findings), result.errors) == (1, [])
    finding = record.load(path)
    triage = finding.triage
    assert triage["deflake"]["verdict"] == "stable"
    assert set(triage["operators"]) == {"abs", "minimum"}
    assert triage["ladder"]["rung"] == "inductor"
    assert triage["bisect"]["subsystem"] == "lowerings"
    assert {row["verdict"] for row in triage["ablation"]} >= {FAILS}
    assert triage["repro"]["status"] == 1
    assert {"report.md", "repro.py", "original.fg", "output_code.py", "trace"} <= {p.name for p in path.iterdir()}
    assert "min_propagate_nan" in (path / "report.md").read_text()
    assert "cpp_fused" in (path / "output_code.py").read_text()
    assert json.loads((tmp_path / "findings" / "index.json").read_text())[0]["id"] == finding.id
    # A second triage finds all steps done.
    said.clear()
    pipeline.triage(tmp_path, Plan(), say=said.append)
    assert [line for line in said if not line.endswith(triage["title"])] == []
    assert [v.verdict for v in verify.verify(verify.scripts(tmp_path), sys.executable)] == ["still there"]
    # It becomes a regression program, once.
    folder = tmp_path / "kept"
    assert cli.main(["triage", str(tmp_path), "--keep", "--regressions", str(folder)]) == 0
    assert cli.main(["triage", str(tmp_path), "--keep", "--regressions", str(folder)]) == 0
    assert sorted(p.name for p in folder.iterdir()) == [f"{finding.id}.fg", f"{finding.id}.toml"]
    assert cli.main(["regress", str(folder)]) == 0


def test_a_finding_without_its_program_is_an_error_and_the_others_go_on(tmp_path: Path, workshop: Workshop) -> None:
    program = parse(SHORT)
    path = found_by_a_campaign(tmp_path, program, workshop.run_programs([program], "inductor", [])[0])
    (path / "program.fg").write_text("fuzzgraph 1\nnonsense\n")
    result = pipeline.triage(tmp_path, Plan())
    assert [str(path / "program.fg") in str(error) for error in result.errors] == [True]
    assert isinstance(result.errors[0], FuzzgraphError)
    assert "problem" in record.load(path).triage
