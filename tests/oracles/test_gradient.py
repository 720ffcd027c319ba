"""The gradient oracle."""

import torch
from fakes import FakeTools, run

from fuzzgraph.ir.text import parse
from fuzzgraph.oracles import gradient
from tests.generate.worlds import MetaInference, tiny_book

X = torch.arange(6.0).reshape(2, 3)
BOOK = tiny_book()


def kinds(expected, actual, plan=None):
    reference, subject = run(gradients={"x": expected}), run(gradients={"x": actual})
    return [f.kind for f in gradient.judge(plan or {}, reference, subject, FakeTools(reference))]


def test_what_it_finds():
    assert kinds(X, X + 1) == ["gradient"]
    assert kinds(X, None) == ["missing"]
    assert kinds(None, X) == ["missing"]
    assert kinds(X, X.double()) == ["dtype"]
    assert kinds(X, X[:1]) == ["shape"]


def test_what_it_lets_pass():
    assert kinds(X, X.clone()) == []
    assert kinds(None, None) == []
    assert kinds(X, X.t().contiguous().t()) == []
    assert kinds(None, torch.zeros(2, 3)) == []
    assert kinds(None, torch.tensor([0.0, float("nan")])) == []
    assert kinds(None, torch.tensor([0.0, float("inf")])) == ["missing"]
    assert kinds(torch.zeros(2, 3), None) == ["missing"]
    assert kinds(X, X + 1, plan={"gradients": False}) == []


def test_it_has_no_plan_without_backward():
    text = "fuzzgraph 1\ninput x: f32[4] grad\n%sdef f(x) {\n a = relu(x)\n return a\n}\ncall f(x)"
    with_grad, without = (parse(text % o, MetaInference(BOOK), BOOK.check) for o in ("option grad = True\n", ""))
    assert gradient.plan(with_grad, BOOK) == {"gradients": True}
    assert gradient.plan(without, BOOK) is None
