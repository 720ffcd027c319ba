"""What is rounding and no bug: the five failures that NNSmith reported first (four roundings to half precision that
fusion skips, a sine before a ceil; two of them cast to integers), and their like.

Each differs from eager by more than the default tolerance, or in whole numbers, so that a plain comparison reports it.
"""

import json
import subprocess
import sys

import pytest

from fuzzgraph.check.checker import Checker
from fuzzgraph.check.source import read
from fuzzgraph.execution.executor import Executor
from fuzzgraph.execution.jobs import make_job
from fuzzgraph.grammar import load_rules
from fuzzgraph.ir import text
from fuzzgraph.render import render

pytestmark = pytest.mark.compiles

HALF = "a: f16[64] = add(x, 2048.0)\n b: f16[64] = sub(a, 2048.0)"
BODIES = {
    "sum": ("f16", HALF),
    "overflow": ("f16", "a: f16[64] = mul(x, 300.0)\n a1: f16[64] = mul(a, 300.0)\n b: f16[64] = mul(a1, 0.0001)"),
    "exp": ("f16", "a: f16[64] = mul(x, x)\n a1: f16[64] = add(a, 1.0)\n b: f16[64] = exp(a1)"),
    "half to int": ("f16", f"{HALF.replace('b:', 'a1:')}\n a2: f16[64] = mul(a1, 8.0)\n b: i32[64] = Tensor.int(a2)"),
    "ceil": ("f32", "a: f32[64] = mul(x, 1e-4)\n a1: f32[64] = sub(a, 1.5707964)\n a2: f32[64] = sin(a1)\n"
                    " b: f32[64] = ceil(a2)"),
    "ceil to int": ("f32", "a: f32[64] = mul(x, 1e-4)\n a1: f32[64] = sub(a, 1.5707964)\n a2: f32[64] = sin(a1)\n"
                           " a3: f32[64] = ceil(a2)\n b: i64[64] = Tensor.long(a3)"),
}  # fmt: skip
PROGRAMS = {
    name: f"fuzzgraph 1\ninput x: {dtype}[64] values normal\ndef f(x) {{\n {body}\n return b\n}}\ncall f(x)\n"
    for name, (dtype, body) in BODIES.items()
}
PLAIN = """
import json, sys, torch
for name, source in json.load(sys.stdin).items():
    exec(source, program := {})
    inputs = program["make_inputs"]()
    (eager,), (compiled,) = (program["run"](wrap, inputs) for wrap in (lambda f: f, torch.compile))
    print(json.dumps([name, bool(torch.allclose(eager, compiled, 1e-3, 1e-5))]))
"""


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    return {name: render(text.parse(program), load_rules()).source for name, program in PROGRAMS.items()}


@pytest.mark.once
def test_a_plain_comparison_reports_them(sources: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN], input=json.dumps(sources), capture_output=True, text=True)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[name, False] for name in PROGRAMS], done.stderr


def test_ours_does_not() -> None:
    jobs = [make_job(text.parse(program), load_rules(), id=name) for name, program in PROGRAMS.items()]
    with Executor() as executor:
        found = {o.id: (o.status, [f.message for f in o.failures]) for o in executor.run(jobs)}
    assert {name: failures for name, (_, failures) in found.items()} == {name: [] for name in PROGRAMS}
    assert {status for status, _ in found.values()} <= {"ok", "unstable"}


@pytest.mark.once
def test_nor_does_check(sources: dict[str, str]) -> None:
    listed = "\nnamed = make_inputs\ndef make_inputs():\n    return tuple(named().values())\n"
    files = [(name, read(source + listed, f"{name}.py")) for name, source in sources.items()]
    with Checker() as checker:
        found = {r.verdict.file: (r.verdict.verdict, r.verdict.detail) for r in checker.check(files)}
    assert {name: verdict for name, (verdict, _) in found.items()} == {name: "same" for name in PROGRAMS}, found
