"""The aliasing oracle: shared memory and writes to inputs."""

import torch
from fakes import FakeTools, run

from fuzzgraph.oracles import aliasing


def kinds(reference, subject, plan=None):
    return [f.kind for f in aliasing.judge(plan or {}, reference, subject, FakeTools(reference))]


def view(lost=False, shift=0):
    """A run whose result is a view of its input, or a copy."""
    x = torch.arange(6.0)
    result = x[shift : shift + 3]
    return run(result.clone() if lost else result, inputs={"x": x})


def test_equal_sharing_says_nothing():
    assert kinds(view(), view()) == []
    assert kinds(view(lost=True), view(lost=True)) == []


def test_outputs_and_inputs():
    assert kinds(view(), view(lost=True)) == ["lost"]
    assert kinds(view(lost=True), view()) == ["invented"]
    assert kinds(view(), view(shift=1)) == ["offset"]


def test_outputs_and_outputs():
    def twice(shared):
        x = torch.arange(6.0)
        return run([x, x[:2] if shared else x[:2].clone()])

    assert kinds(twice(True), twice(True)) == []
    assert kinds(twice(True), twice(False)) == ["lost"]
    assert kinds(twice(False), twice(True)) == ["invented"]


def test_outputs_of_two_calls():
    x = torch.arange(3.0)
    assert kinds(run(x, x), run(x, x.clone())) == ["lost"]


def test_inputs_that_share_are_not_its_business():
    x = torch.arange(3.0)
    assert kinds(run(inputs={"x": x, "y": x}), run(inputs={"x": x, "y": x.clone()})) == []


def test_writes_to_inputs():
    a, b = torch.zeros(3), torch.ones(3)
    assert kinds(run(inputs={"x": a}), run(inputs={"x": b})) == ["mutation"]
    assert kinds(run(inputs={"x": a}), run(inputs={"x": b}), plan={"inputs": ["x"]}) == []


def test_tensors_without_elements_share_nothing():
    x = torch.zeros(0)
    assert kinds(run(x, inputs={"x": x}), run(torch.zeros(0), inputs={"x": x})) == []


def test_results_that_are_no_tensors():
    x = torch.zeros(2)
    assert kinds(run([x, 3, None], inputs={"x": x}), run([x, 3, None], inputs={"x": x})) == []
