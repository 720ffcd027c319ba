"""The guard oracle: what is stale code, and what is wrong anyway."""

import torch
from fakes import FakeTools, run

from fuzzgraph.oracles import guard
from fuzzgraph.oracles._types import Trial

X = torch.arange(6.0).reshape(2, 3)
GOOD, WRONG, RAISES = run(X), run(X + 1), run(error=ValueError("no"))
PLANS = {"value": {}, "crash": {}}
PLAN = {
    "plans": PLANS,
    "variants": [{"key": "dtype", "source": "b", "plans": PLANS, "alone": {"source": "a", "plans": PLANS}}],
}


def judged(both, alone=GOOD, subject=GOOD, reference=GOOD):
    others = {"b": Trial(reference, both, FakeTools(reference)), "a": Trial(GOOD, alone, FakeTools(GOOD))}
    tools = FakeTools(GOOD, others=others)
    return [(f.oracle, f.kind, f.variant) for f in guard.judge(PLAN, GOOD, subject, tools)], tools.notes


def test_what_only_the_shared_object_shows():
    assert judged(WRONG) == ([("guard", "value", "dtype")], [])
    assert judged(RAISES) == ([("guard", "exception", "dtype")], [])


def test_stale_code_is_one_failure_however_it_shows():
    """One missing guard was three findings: of an output, of a state and of an input."""
    reference, both = run(X, inputs={"x": X}), run(X + 1, inputs={"x": X + 1})
    plans = {"aliasing": {}, "metadata": {}, "value": {}}
    plan = {"plans": {}, "variants": [{**PLAN["variants"][0], "plans": plans}]}
    tools = FakeTools(
        GOOD, others={"b": Trial(reference, both, FakeTools(reference)), "a": Trial(GOOD, GOOD, FakeTools(GOOD))}
    )
    assert [(f.oracle, f.kind) for f in guard.judge(plan, GOOD, GOOD, tools)] == [("guard", "value")]


def test_what_is_wrong_alone_too_is_no_guards_fault():
    assert judged(WRONG, alone=WRONG)[0] == [("value", "value", "dtype alone")]
    assert judged(RAISES, alone=RAISES)[0] == [("crash", "exception", "dtype alone")]


def test_what_the_program_itself_shows_is_left_to_others():
    assert judged(WRONG, subject=WRONG)[0] == []


def test_a_variant_that_eager_refuses_is_noted():
    found, notes = judged(GOOD, reference=RAISES)
    assert found == [] and notes == ["dtype: eager raises ValueError: no"]


def test_memory_that_runs_out_is_no_failure():
    assert judged(run(error=MemoryError()))[0] == []
