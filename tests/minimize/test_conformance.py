"""What every reducer must hold, each in turn over a corpus and over generated programs."""

import random
from random import Random

import pytest

from fuzzgraph.execution.infer import InferClient
from fuzzgraph.execution.protocol import Outcome
from fuzzgraph.grammar import load_rules
from fuzzgraph.ir import text, wire
from fuzzgraph.ir.builder import Builder, Rejected
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.retype import retype
from fuzzgraph.ir.verify import verify
from fuzzgraph.minimize import load
from fuzzgraph.minimize._reduction import make_tools, reduced
from fuzzgraph.minimize.minimizer import minimize
from fuzzgraph.render import render
from tests.mutators.conftest import TEXTS

REDUCERS = load()
pytestmark = pytest.mark.once  # of programs as text: no torch does anything else with them
GENERATED = 12
MORE = """input x: i16[4, 6] values ints(-3, 3) seed 2
input y: f64[6, 4][1, 6]+2 values edge(0.2) seed 1 dynamic(0)
input z: i16[4, 6] view of x
option fullgraph = True
option autocast = "bf16"
def f(x, y, z) {
  a = split(y, [2, 4], 0)
  b = getitem(a, 1)
  form no_grad {
    c = add(b, 3, alpha = 2) as method
  }
  d = Tensor.add_(z, 5)
  return (c, d)
}
call f(x, y, z) with no_grad
call f(x, y, z) fresh"""


@pytest.fixture(scope="module")
def tools():
    with InferClient() as infer:
        yield make_tools(load_rules(), infer)


@pytest.fixture(scope="module")
def programs(tools):
    corpus = [text.parse("fuzzgraph 1\n" + t, tools.infer, tools.book.check) for t in (*TEXTS, MORE)]
    return [*corpus, *(tools.generator.program(Random(seed)) for seed in range(GENERATED))]


@pytest.fixture(scope="module", params=REDUCERS, ids=lambda r: r.name)
def found(request, programs, tools):
    """(reducer, program, change, result or None) for all programs and changes."""
    rows = []
    for program in programs:
        for change in request.param.changes(program, tools):
            try:
                rows.append((request.param, program, change, reduced(program, [change], tools)))
            except Rejected:
                rows.append((request.param, program, change, None))
    return rows


def all_fail(programs):
    return [Outcome(str(number), "failure") for number, _ in enumerate(programs)]


def test_all_there_are():
    assert len(REDUCERS) >= 15
    assert [r.order for r in REDUCERS] == sorted(r.order for r in REDUCERS)
    assert all(r.name.isidentifier() for r in REDUCERS)


def test_results_are_valid_and_no_larger(found, tools):
    assert any(result is not None for *_, result in found), "it never applies"
    for _, program, change, result in found:
        if result is not None:
            assert verify(result, tools.book.check) == [], change.how
            assert result.size <= program.size
            assert content_hash(result) != content_hash(program), change.how


def test_results_can_be_written_and_rendered(found, tools):
    for _, _, _, result in found:
        if result is not None:
            assert text.parse(text.format(result)) == result
            assert wire.unpack(wire.pack(result)) == result
            compile(render(result, tools.book).source, "<rendered>", "exec")


def test_types_are_what_inference_says(found, tools):
    for _, _, _, result in found[::3]:
        if result is not None:
            b = Builder(tools.infer, tools.book.check, base=result)
            retype(b)
            assert b.build() == result


def test_changes_are_pure_named_and_the_same_each_time(found, programs, tools):
    before = [wire.pack(p) for p in programs]
    state = random.getstate()
    reducer = found[0][0]
    for program in programs:
        first, again = (reducer.changes(program, tools) for _ in range(2))
        assert [(c.place, c.how, c.joint) for c in first] == [(c.place, c.how, c.joint) for c in again]
        assert len({(c.place, c.how) for c in first}) == len(first)
        assert all(c.place and c.how for c in first)
    for _, program, change, result in found[::5]:
        if result is not None:
            assert wire.pack(reduced(program, [change], tools)) == wire.pack(result)
    assert [wire.pack(p) for p in programs] == before
    assert random.getstate() == state


def test_alone_it_comes_to_an_end(found, programs, tools):
    """Also where every candidate is accepted: no change leads back."""
    reducer = found[0][0]
    for program in programs:
        done = minimize(program, all_fail, tools, "k", lambda o, p: ["k"], reducers=[reducer])
        assert done.stopped == "fixpoint"
        seen = {content_hash(done.program)}
        for change in reducer.changes(done.program, tools):
            try:
                seen.add(content_hash(reduced(done.program, [change], tools)))
            except Rejected:
                continue
        # What is left leads only to what was there before, or nowhere.
        assert len(seen) <= 1 + done.executions
        assert done.executions < 400
