"""The metadata oracle: each thing that a program can see of its results."""

import pytest
import torch
from fakes import FakeTools, run

from fuzzgraph.oracles import metadata

X = torch.arange(6.0).reshape(2, 3)


def kinds(expected, actual, plan=None):
    reference = expected if hasattr(expected, "results") else run(expected)
    subject = actual if hasattr(actual, "results") else run(actual)
    return [f.kind for f in metadata.judge(plan or {}, reference, subject, FakeTools(reference))]


@pytest.mark.parametrize(
    "make",
    [
        lambda: X.clone(),
        lambda: [X, (X, {"a": X, "b": None})],
        lambda: (x for x in ()),
        lambda: (lambda: 0),
        lambda: (torch.float32, torch.Size([2]), "s", slice(1, 2), object()),
        lambda: torch.ones(3, dtype=torch.complex64).conj(),
    ],
)
def test_equal_runs_say_nothing(make):
    assert kinds(make(), make()) == []


@pytest.mark.parametrize(
    ("actual", "kind"),
    [
        (X.double(), "dtype"),
        (X[:1], "shape"),
        (X.t().contiguous().t(), "stride"),
        (X.clone().requires_grad_(), "requires_grad"),
        (X.to("meta"), "device"),
        (X.to_sparse(), "layout"),
    ],
)
def test_each_difference_of_a_tensor_is_found(actual, kind):
    assert kinds(X, actual) == [kind]


def test_conj_and_neg_bits():
    z = torch.ones(3, dtype=torch.complex64)
    assert kinds(z.conj(), z.clone()) == ["conj"]
    assert kinds(z.conj().imag, z.imag.clone().neg()) == ["stride", "neg"]


def test_strides_that_nobody_can_see_do_not_count():
    one = torch.zeros(1, 3)
    assert kinds(one, one.as_strided((1, 3), (7, 1))) == []
    assert kinds(torch.zeros(0, 3), torch.zeros(3, 0).t()) == []


def test_inputs_and_gradients():
    assert kinds(run(X, inputs={"x": X}), run(X, inputs={"x": X.double()})) == ["dtype"]
    strided = X.t().contiguous().t()
    assert kinds(run(X, gradients={"x": X}), run(X, gradients={"x": strided})) == []  # autograd promises none


def test_no_verdict_on_a_run_that_raised():
    assert kinds(run(X), run(X.double(), error=RuntimeError("x"))) == []


def test_a_tensor_that_reaches_beyond_its_memory_is_not_read():
    from fuzzgraph.oracles import value

    bad = torch._C._dynamo.guards._reinterpret_tensor(torch.ones(3), (3, 2), (2, 1), 0)
    good = torch.zeros(3, 2)
    (failure,) = metadata.judge({}, run(good), run(bad), FakeTools(run(good)))
    assert failure.kind == "memory" and failure.detail.endswith("shape [3, 2], strides [2, 1], offset 0 in 12 bytes")
    assert value.judge({}, run(good), run(bad), FakeTools(run(good))) == []
    assert kinds(torch.ones(3)[1:], torch.ones(3)[1:]) == kinds(torch.ones(0, 3), torch.ones(0, 3)) == []
