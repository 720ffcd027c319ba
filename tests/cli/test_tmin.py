"""`fuzzgraph tmin`: what it refuses, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzzgraph.execution.infer import InferClient
from fuzzgraph.ir.text import parse
from tests.cli.test_cli import Cli, cli, refused

__all__ = ["cli"]

# In the lowering, so that candidates cost no C++ compiler.
FAULT = """
import torch._inductor.lowering as l
def apply():
    def broken(*args, **kwargs):
        raise AssertionError("planted")
    for key in [k for k in l.lowerings if str(k).startswith("aten.abs")]:
        l.lowerings[key] = broken
"""
FINE = """fuzzgraph 1
input x: f32[4] values normal seed 1
def f(x) {
  a: f32[4] = neg(x)
  return a
}
call f(x)
"""
WRONG = """fuzzgraph 1
input x: f32[2, 4][1, 2] values normal(0.0, 3.0) seed 5
def f(x) {
  a = neg(x)
  b = abs(a)
  c = add(b, x)
  return (c, a)
}
call f(x)
"""


def test_what_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.fg").write_text(FINE)
    (tmp_path / "q.fg").write_text(FINE)
    refused(cli("tmin", tmp_path / "script.py"), 2, "script.py", "No such file")
    refused(cli("tmin", tmp_path / "none.fg"), 2, "none.fg", "no such program")
    refused(cli("tmin", tmp_path), 2, "2 programs")
    refused(cli("tmin", tmp_path / "p.fg", "--jobs", "0"), 2, "--jobs")
    refused(cli("tmin", tmp_path / "p.fg", "--budget", "-1"), 2, "--budget")
    refused(cli("tmin", tmp_path / "p.fg", "-o", tmp_path / "none" / "out.fg"), 2, "no such folder")
    (tmp_path / "q.fg").write_text("fuzzgraph 1\ninput x: i16[4\n")
    refused(cli("tmin", tmp_path / "q.fg"), 2, "q.fg:2")


@pytest.mark.once
@pytest.mark.compiles
def test_a_program_without_a_failure_is_status_1(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.fg").write_text(FINE)
    done = cli("tmin", tmp_path / "p.fg")
    assert done.returncode == 1
    assert done.stdout == f"{tmp_path / 'p.fg'}: ok: it fails no oracle, there is nothing to reduce\n"
    assert not (tmp_path / "p.min.fg").exists()


@pytest.mark.once
@pytest.mark.compiles
def test_the_result_is_written_and_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.fg").write_text(WRONG)
    (tmp_path / "fault.py").write_text(FAULT)
    done = cli("tmin", tmp_path / "p.fg", "--preload", tmp_path / "fault.py", "--json")
    assert done.returncode == 0, done
    told = json.loads(done.stdout)
    assert told["operators"] == {"before": 3, "after": 1}
    assert told["key"].startswith("crash|exception|inductor|AssertionError|")
    assert "|AssertionError: planted" in told["key"]
    assert told["stopped"] == "fixpoint"
    assert told["confirmed"]["verdict"] == "stable"
    assert told["reducers"]["cut_tail"]["accepted"] >= 1
    with InferClient() as infer:
        program = parse((tmp_path / "p.min.fg").read_text(), infer)
    assert [str(n.meta["op"]) for n in program.nodes()] == ["abs"]
    assert program.inputs[0].type.shape == ()
    assert program.inputs[0].values.kind == "full"
