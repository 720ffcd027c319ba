"""What holds for every oracle file."""

import pytest
import torch
from fakes import FakeTools, run

from fuzzgraph import oracles
from fuzzgraph.oracles._failure import Failure


@pytest.fixture(params=oracles.names())
def oracle(request):
    return oracles.load(request.param)


def test_it_has_both_halves_and_says_what_it_is_for(oracle):
    assert callable(oracle.plan) and callable(oracle.judge) and oracle.__doc__


def test_it_is_silent_on_identical_runs(oracle):
    x = torch.randn(3)
    one = run([x, 3, "s", None], inputs={"x": x}, gradients={"x": x}, states={"s": [1]})
    assert oracle.judge({}, one, one, FakeTools(one)) == []


def test_failures_survive_the_wire():
    failure = Failure("crash", "exception", "cpp", "m", "d", ("a:b",), "T", ("S", "T"))
    assert Failure.from_data(failure.to_data()) == failure
