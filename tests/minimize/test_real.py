"""Real compilations: what tiny grammars and predicates cannot show."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fuzzgraph.campaign.replay import Bench
from fuzzgraph.execution.protocol import Outcome
from fuzzgraph.ir.program import Program, op_of
from fuzzgraph.ir.text import parse
from fuzzgraph.minimize import load
from fuzzgraph.minimize._reduction import make_tools
from fuzzgraph.minimize.minimizer import minimize
from fuzzgraph.triage.signature import cores

FAULT = Path(__file__).parent / "clamps.py"
# Those that make a program shorter; what the others do costs executions and is tested without a compiler.
COARSE = [r for r in load() if r.order <= 45]

CLAMP = """fuzzgraph 1
input x: f32[4, 8] values normal(0.0, 2.0) seed 1
input y: f32[8] values normal seed 2
input i: i64[3] values index(4)
def f(x, y, i) {
  a = add(x, y, alpha = 2)
  b = sin(a)
  c = transpose(b, 0, 1)
  d = mul(c, 0.5)
  e = sum(d, 0, keepdim = True)
  g = neg(x)
  h = cos(g)
  k = index_select(h, 0, i)
  m = mean(k, 1)
  n = clamp(a, -0.5, 0.5)
  o = add(n, b)
  p = mul(o, h)
  q = exp(y)
  r = log1p(q)
  s = add(p, r)
  t = sum(s, 1)
  u = sigmoid(t)
  v = narrow(s, 1, 2, 4)
  w = reshape(v, (16,))
  z = relu(w)
  return {"r0": (u, e), "r1": [m, z]}
}
call f(x, y, i)
"""
MINIMUM = """fuzzgraph 1
input x: i16[4, 8] values ints(-3, 3) seed 1
input y: f32[4, 8] values normal seed 2
def f(x, y) {
  a = add(x, 3)
  b = abs(a)
  c = minimum(b, a)
  d = sin(y)
  e = mul(d, y)
  g = add(e, c)
  h = sum(g, 0)
  return (h, d)
}
call f(x, y)
"""


@pytest.fixture(scope="module")
def bench():
    with Bench("inductor", [str(FAULT)], 60.0) as running:
        yield running


def shrunk(bench: Bench, text: str, key: str) -> Program:
    program = parse(text, bench.infer, bench.book.check)

    def execute(programs: Sequence[Program]) -> list[Outcome]:
        return bench.run_all(programs, {}, {key.split("|")[0], "crash"})

    def keys(outcome: Outcome, program: Program) -> list[str]:
        return cores(outcome.failures)

    assert keys(execute([program])[0], program) == [key]
    tools = make_tools(bench.book, bench.infer)
    done = minimize(program, execute, tools, key, keys, reducers=COARSE)
    assert keys(execute([done.program])[0], done.program) == [key]
    return done.program


@pytest.mark.once
@pytest.mark.compiles
def test_wrong_values_of_twenty_nodes_become_those_of_one(bench: Bench) -> None:
    program = shrunk(bench, CLAMP, "value|value|run||values differ")
    assert "clamp" in [op_of(n) for n in program.nodes()]
    assert program.size <= 1 + 3


@pytest.mark.compiles
def test_the_minimum_of_narrow_integers_becomes_two_operators(bench: Bench) -> None:
    key = "crash|exception|cpp|CppCompileError|no matching function for call to 'min_propagate_nan(T&, T&)'"
    program = shrunk(bench, MINIMUM, key)
    assert [op_of(n) for n in program.nodes()] == ["abs", "minimum"]
