"""The minimizer over the tiny grammar: what it leads to, what it promises, when it stops."""

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fuzzgraph.ir.builder import Rejected
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.program import type_of
from fuzzgraph.ir.text import format, parse
from fuzzgraph.ir.verify import verify
from fuzzgraph.minimize import load
from fuzzgraph.minimize._reduction import reduced
from fuzzgraph.minimize.minimizer import minimize
from fuzzgraph.minimize.trials import Budget
from tests.minimize.small import BOOK, KEY, TOOLS, Runs, feeds, key_of, minimized, ops, outcome, small

LONG = """input x: f16[4, 6][6, 1]+3 values edge seed 7
input y: f32[6] values normal seed 2
input z: f32[4, 6] values uniform(2.0, 3.0) storage 99
option dynamic = True
option config.inductor.max_fusion_size = 1
option config.inductor.cpp.simdlen = 0
def f(x, y, z) {
  a = add(x, 3.0) as method
  b = relu(a)
  form no_grad {
    c = neg(b)
    d = mul(c, y)
  }
  e = add(d, z)
  g = narrow(e, 1, 0, 2)
  h = Tensor.neg_(g)
  i = mul(h, h)
  return {"r0": (i, b), "r1": [e, 3]}
}
call f(x, y, z)
call f(x, y, z) with no_grad fresh"""


def neg_feeds_mul(p):
    return feeds(p, "neg", "mul")


def test_all_that_does_not_matter_goes():
    done = minimized(LONG, neg_feeds_mul)
    assert done.stopped == "fixpoint"
    assert format(done.program) == (
        "fuzzgraph 1\ninput x0: f32[] values full(1)\n\n"
        "def f(x0) {\n  c: f32[] = neg(x0)\n  d: f32[] = mul(c, 0)\n  return d\n}\ncall f(x0)\n"
    )


def test_what_matters_stays():
    done = minimized(LONG, lambda p: neg_feeds_mul(p) and p.options.dynamic is True and len(p.calls) == 2)
    assert ops(done.program) == ["neg", "mul"]
    assert done.program.options.dynamic is True
    assert done.program.options.config == ()
    assert [c.contexts for c in done.program.calls] == [(), ()]


@pytest.mark.parametrize(
    ("fails", "kept"),
    [
        (lambda p: any(s.type.offset for s in p.inputs), lambda p: [s.type.offset for s in p.inputs] == [3]),
        (lambda p: any(s.type.dtype == "f16" for s in p.inputs), lambda p: p.inputs[0].type.dtype == "f16"),
        (lambda p: any(5 in s.type.shape or 6 in s.type.shape for s in p.inputs),
         lambda p: p.inputs[0].type.shape == (5,)),
        (lambda p: any(s.values.kind == "edge" for s in p.inputs), lambda p: p.inputs[0].values.seed == 0),
        (lambda p: any(f.regions for f in p.functions), lambda p: p.size == 1 and len(p.functions[0].regions) == 1),
        (lambda p: len(p.options.config) > 0, lambda p: len(p.options.config) == 1),
        (lambda p: any(c.contexts for c in p.calls), lambda p: len(p.calls) == 1 and not p.calls[0].fresh),
        (lambda p: isinstance(p.functions[0].result, dict), lambda p: len(p.functions[0].result) <= 1),
        (lambda p: "Tensor.neg_" in ops(p), lambda p: p.size == 1),
    ],
)  # fmt: skip
def test_one_property_keeps_one_thing(fails, kept):
    done = minimized(LONG, fails)
    assert fails(done.program)
    assert kept(done.program), format(done.program)
    assert done.program.size <= 2


def test_calls_of_other_sizes_get_inputs_of_their_own():
    text = """input x: f32[4]
    input y: f32[6] seed 1
    option dynamic = True
    def f(x) {
      a = relu(x)
      b = neg(a)
      c = mul(b, b)
      return c
    }
    call f(x)
    call f(y)"""

    def fails(p):
        sizes = {p.input(c.args[0].name).type.shape for c in p.calls if c.args}
        return "mul" in ops(p) and len(sizes) == 2

    done = minimized(text, fails)
    assert ops(done.program) == ["mul"]
    assert len(done.program.inputs) == 2


def test_operands_stay_in_their_domain():
    text = """input x: f32[40]
    input i: i64[5] values ints(0, 1000)
    def f(x, i) {
      a = remainder(i, 40)
      b = take(x, a)
      c = neg(b)
      return c
    }
    call f(x, i)"""
    done = minimized(text, lambda p: "take" in ops(p))
    assert ops(done.program) == ["take"]
    assert [str(s.values.params) for s in done.program.inputs] == ["(1,)", "(0,)"]


def test_calls_that_the_grammar_refuses_are_reduced_like_others():
    """By hand people write what rules do not know; whether it is valid is the reference run's business."""
    text = """fuzzgraph 1
    input x: i64[4, 6] values ints seed 3
    def f(x) {
      a = neg(x)
      b = remainder(a, -3)
      c = mul(b, a)
      d = relu(c)
      return (d, a)
    }
    call f(x)"""
    program = parse(text, TOOLS.infer)
    assert BOOK.check("remainder", (type_of(program.functions[0].body[0]), -3), {}) is not None
    done = minimize(program, Runs(lambda p: "remainder" in ops(p)), TOOLS, KEY, key_of)
    assert ops(done.program) == ["remainder"]
    assert [s.type.shape for s in done.program.inputs] == [()]


CHAIN = st.lists(st.sampled_from(["add", "mul", "relu", "neg", "reshape", "clone"]), min_size=2, max_size=12)


@settings(max_examples=15, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(CHAIN, st.integers(0, 11), st.integers(0, 11), st.integers(1, 3))
def test_the_result_fails_is_no_larger_and_nothing_simpler_fails(chain, first, second, width):
    lines, values = [], ["x"]
    for number, op in enumerate(chain):
        more = {"add": f", {values[(number * 7) % len(values)]}", "mul": ", 1", "reshape": ", (2, 2)"}.get(op, "")
        lines.append(f"v{number} = {op}({values[-1] if number % 3 else values[number // 2]}{more})")
        values.append(f"v{number}")
    text = "input x: f32[2, 2]\ndef f(x) {\n" + "\n".join(lines) + f"\nreturn ({', '.join(values[1:])})\n}}\ncall f(x)"
    wanted = {chain[first % len(chain)], chain[second % len(chain)]}

    def fails(p):
        return wanted <= set(ops(p))

    done = minimized(text, fails, width=width)
    assert fails(done.program)
    assert done.stopped == "fixpoint"
    assert done.program.size == len(wanted)
    assert verify(done.program, BOOK.check) == []
    for reducer in load():
        for change in reducer.changes(done.program, TOOLS):
            try:
                simpler = reduced(done.program, [change], TOOLS)
            except Rejected:
                continue
            assert not fails(simpler) or content_hash(simpler) == content_hash(done.program)


def test_a_result_gives_way_to_what_it_is_made_of():
    text = "input x: f32[2]\ndef f(x) {\n a = mul(x, 2)\n b = clone(x)\n c = add(a, b)\n return c\n}\ncall f(x)"
    done = minimized(text, lambda p: {"clone", "mul"} <= set(ops(p)))
    assert sorted(ops(done.program)) == ["clone", "mul"]


def test_each_program_is_executed_once_and_the_result_was():
    runs = Runs(neg_feeds_mul)
    done = minimize(small(LONG), runs, TOOLS, KEY, key_of, width=3)
    executed = [content_hash(p) for batch in runs.batches for p in batch]
    assert len(executed) == len(set(executed)) == done.executions
    assert content_hash(done.program) in executed
    assert content_hash(done.before) not in executed
    assert max(map(len, runs.batches)) == 3
    assert sum(s.tried for s in done.statistics.values()) == done.executions
    assert all(s.accepted <= s.tried + s.known for s in done.statistics.values())


def test_equal_programs_lead_to_equal_results():
    first, second = (minimized(LONG, neg_feeds_mul) for _ in range(2))
    assert format(first.program) == format(second.program)
    assert first.executions == second.executions


def test_another_key_does_not_count():
    def other(outcome, program):
        return ["another"] if "add" not in ops(program) else key_of(outcome, program)

    done = minimize(small(LONG), Runs(neg_feeds_mul), TOOLS, KEY, other)
    assert "add" in ops(done.program)
    assert neg_feeds_mul(done.program)


def test_the_budget_ends_it_with_the_best_so_far():
    runs = Runs(neg_feeds_mul)
    done = minimize(small(LONG), runs, TOOLS, KEY, key_of, budget=Budget(executions=5))
    assert done.stopped == "budget"
    assert runs.count <= 5
    assert neg_feeds_mul(done.program)
    done = minimize(small(LONG), runs, TOOLS, KEY, key_of, budget=Budget(seconds=1e-9))
    assert (done.stopped, done.program) == ("budget", small(LONG))


def test_an_interrupt_keeps_the_best_so_far():
    runs = Runs(neg_feeds_mul)

    def interrupted(programs):
        if runs.count >= 6:
            raise KeyboardInterrupt
        return runs(programs)

    done = minimize(small(LONG), interrupted, TOOLS, KEY, key_of)
    assert done.stopped == "interrupted"
    assert done.program.size < done.before.size
    assert neg_feeds_mul(done.program)


def test_a_flaky_candidate_gets_several_runs():
    count: dict[str, int] = {}

    def second_time(programs):
        found = []
        for p in programs:
            count[content_hash(p)] = count.get(content_hash(p), 0) + 1
            found.append(outcome(neg_feeds_mul(p) and count[content_hash(p)] > 1))
        return found

    assert minimize(small(LONG), second_time, TOOLS, KEY, key_of).program == small(LONG)
    count.clear()
    done = minimize(small(LONG), second_time, TOOLS, KEY, key_of, repeats=2)
    assert ops(done.program) == ["neg", "mul"]
    assert max(count.values()) == 2
