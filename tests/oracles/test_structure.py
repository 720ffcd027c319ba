"""The structure oracle: containers, Python types, side effects."""

from collections import namedtuple

import pytest
import torch
from fakes import FakeTools, run

from fuzzgraph.oracles import structure

X = torch.arange(6.0).reshape(2, 3)
Pair = namedtuple("Pair", "a b")


def kinds(expected, actual, plan=None):
    reference = expected if hasattr(expected, "results") else run(expected)
    subject = actual if hasattr(actual, "results") else run(actual)
    return [f.kind for f in structure.judge(plan or {}, reference, subject, FakeTools(reference))]


@pytest.mark.parametrize(
    "make",
    [
        lambda: [X, (X, {"a": X, "b": None}), Pair(1, X)],
        lambda: (x for x in ()),
        lambda: (lambda: 0),
        lambda: (torch.float32, torch.Size([2]), "s", slice(1, 2), object()),
    ],
)
def test_equal_runs_say_nothing(make):
    assert kinds(make(), make()) == []


@pytest.mark.parametrize(
    ("expected", "actual", "kind"),
    [
        ([X, X], (X, X), "structure"),
        (Pair(X, X), (X, X), "structure"),
        ([X, X], [X], "structure"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "structure"),
        (True, 1, "structure"),
        (X, [X], "structure"),
        (X, 3.0, "structure"),
        ("a", "b", "python"),
        (torch.Size([2]), torch.Size([3]), "python"),
        (torch.float32, torch.float64, "python"),
    ],
)
def test_python_structure(expected, actual, kind):
    assert kinds(expected, actual) == [kind]


def test_classes_that_the_program_makes_anew_are_one():
    def make():
        class Thing:
            pass

        return Thing()

    assert kinds(make(), make()) == []


def test_tainted_python_values_are_not_compared():
    assert kinds(run(["a"]), run(["b"]), plan={"outputs": [[0, 0]]}) == []


def test_side_effects():
    assert kinds(run(X, states={"log": ["a"]}), run(X, states={"log": ["a", "b"]})) == ["structure"]
    assert kinds(run(X, states={"mode": "a"}), run(X, states={"mode": "b"})) == ["python"]
    assert kinds(run(X, states={"log": ["a"]}), run(X, states={"log": ["a"]})) == []


def test_another_number_of_results():
    assert kinds(run(X, X), run(X)) == ["structure"]
