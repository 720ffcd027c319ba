"""What holds for every oracle file. A new oracle needs an entry in `PLANTED`: what it finds, and what it lets pass."""

from types import SimpleNamespace

import pytest
import torch
from fakes import FakeTools, run

from fuzzgraph import oracles
from fuzzgraph.execution.protocol import Job
from fuzzgraph.harness import runner
from fuzzgraph.ir.text import parse
from fuzzgraph.oracles._failure import Failure
from fuzzgraph.oracles._types import Trial

X = torch.arange(6.0).reshape(2, 3)
GOOD, WRONG = run(X), run(X + 1)
RAISES = run(error=IndexError("out of range"))
VARIANT = {
    "key": "other size", "source": "both", "plans": {"value": {}}, "alone": {"source": "alone", "plans": {"value": {}}},
}  # fmt: skip
GUARD = {"plans": {"value": {}}, "variants": [VARIANT]}
EQUIVALENCE = {"config": {"inductor.max_fusion_size": 1}, "gradients": True}


def trial(subject):
    return Trial(GOOD, subject, FakeTools(GOOD))


# By oracle: (plan, reference, subject, tools) that it reports, and the nearest that it does not.
PLANTED = {
    "value": (({}, GOOD, WRONG, {}), ({}, GOOD, run(X + 1e-9), {})),
    "gradient": (
        ({}, run(X, gradients={"x": X}), run(X, gradients={"x": None}), {}),
        ({}, run(X, gradients={"x": X}), run(X, gradients={"x": X.clone()}), {}),
    ),
    "metadata": (({}, GOOD, run(X.double()), {}), ({}, GOOD, run(X.clone()), {})),
    "aliasing": (
        ({}, run(X, inputs={"x": X}), run(X.clone(), inputs={"x": X}), {}),
        ({}, run(X[0], inputs={"x": X}), run(X[0], inputs={"x": X}), {}),
    ),
    "structure": (({}, run([X]), run((X,)), {}), ({}, run([X]), run([X + 1]), {})),
    "crash": (({}, GOOD, run(error=ValueError("no")), {}), ({"exceptions": False}, GOOD, RAISES, {})),
    "missed_error": (({}, RAISES, GOOD, {}), ({}, RAISES, run(error=IndexError("other words")), {})),
    "fake": (({}, GOOD, GOOD, {"fake": run(X.double())}), ({}, GOOD, GOOD, {"fake": run(X + 1)})),
    "device": (({}, GOOD, GOOD, {"cpu": WRONG}), ({}, GOOD, WRONG, {})),
    "guard": (
        (GUARD, GOOD, GOOD, {"others": {"both": trial(WRONG), "alone": trial(GOOD)}}),
        (GUARD, GOOD, GOOD, {"others": {"both": trial(GOOD), "alone": trial(WRONG)}}),
    ),
    "equivalence": (
        (EQUIVALENCE, GOOD, GOOD, {"reconfigured": WRONG}),
        (EQUIVALENCE, GOOD, GOOD, {"reconfigured": run(X.clone())}),
    ),
}
DRAWN = torch.rand(8, 6, 4, generator=torch.Generator().manual_seed(0))
DREW = run(DRAWN[0], drew=True)
SEEDS = {"reseeded": lambda seed: run(DRAWN[seed], drew=True)}
PLANTED["randomness"] = (
    ({}, DREW, DREW, {**SEEDS, "own_random": lambda seed: run(DRAWN[seed][:1].expand(6, 4), drew=True)}),
    ({}, DREW, DREW, {**SEEDS, "own_random": lambda seed: run(DRAWN[seed + 4] / 2, drew=True)}),
)


@pytest.fixture(params=oracles.names())
def name(request):
    return request.param


@pytest.fixture
def oracle(name):
    return oracles.load(name)


def judged(name, at, off=()):
    """What a child reports of one of the plants, with some oracles switched off."""
    if name not in PLANTED and not oracles.load(name).__name__.startswith(oracles.__name__):
        pytest.skip("an oracle of a plug-in: its author plants what it finds")
    plan, reference, subject, tools = PLANTED[name][at]
    plans = {other: {} for other in oracles.names() if other != name} | {name: plan}
    if name == "device":  # every other oracle sees that the subject is wrong
        plans = {name: plan}
    plans = {key: value for key, value in plans.items() if key not in off} or {"structure": {}}
    found = runner._judge(Job("j", "", plans=plans), reference, subject, FakeTools(reference, **tools))
    return [f for f in found.failures if f.oracle == name]


def test_it_has_both_halves_and_says_what_it_is_for(oracle):
    assert callable(oracle.plan) and callable(oracle.judge) and oracle.__doc__


def test_it_is_silent_on_identical_runs(oracle):
    x = torch.randn(3)
    one = run([x, 3, "s", None], inputs={"x": x}, gradients={"x": x}, states={"s": [1]})
    assert oracle.judge({}, one, one, FakeTools(one)) == []


def test_it_finds_what_is_planted(name):
    assert judged(name, 0)


def test_it_lets_pass_what_is_fine(name):
    assert judged(name, 1) == []


def test_it_can_be_switched_off(name):
    assert judged(name, 0, off=(name,)) == []


def test_only_what_is_asked_is_planned(name):
    program = parse("fuzzgraph 1\ninput x: f32[3]\ndef f(x) {\n a: f32[3] = relu(x)\n return a\n}\ncall f(x)")
    asked = [other for other in oracles.names() if other != name]
    assert name not in oracles.plan_all(program, only=asked)
    assert set(oracles.plan_all(program, only=(name,))) <= {name}


def test_a_program_made_to_raise_is_asked_little():
    text = "fuzzgraph 1\ninput x: f32[3]\noption expects_error = True\ndef f(x) {\n a: f32[3] = relu(x)\n return a\n}"
    assert oracles.plan_all(parse(text + "\ncall f(x)")) == {"crash": {"exceptions": False}, "missed_error": {}}


def test_failures_survive_the_wire():
    failure = Failure("crash", "exception", "cpp", "m", "d", ("a:b",), "T", ("S", "T"), "dtype")
    assert Failure.from_data(failure.to_data()) == failure


def test_variants_come_from_outside():
    """Oracles that need other programs say so, and plan less without them."""
    program = parse("fuzzgraph 1\ninput x: f32[3]\ndef f(x) {\n a: f32[3] = relu(x)\n return a\n}\ncall f(x)")
    asked = []

    def variants(oracle, of):
        asked.append(oracle)
        assert of is program
        return [SimpleNamespace(key=k, program=program, undo="") for k in ("dtype", "dtype alone")]

    plans = oracles.plan_all(program, variants=variants)
    assert asked == [n for n in oracles.names() if hasattr(oracles.load(n), "plan_variants")]
    assert [v["key"] for v in plans["guard"]["variants"]] == ["dtype"]
    assert "guard" not in oracles.plan_all(program)
    assert oracles.expensive() == {"guard", "equivalence"} == set(oracles.names()) - set(oracles.cheap())


def test_expensive_oracles_are_asked_last_and_not_in_vain():
    plan, reference, subject, tools = PLANTED["guard"][0]
    job = Job("j", "", plans={"guard": plan, "value": {}})
    for wrong, oracle in ((subject, "guard"), (WRONG, "value")):
        found = runner._judge(job, reference, wrong, FakeTools(reference, **tools)).failures
        assert [f.oracle for f in found] == [oracle]
