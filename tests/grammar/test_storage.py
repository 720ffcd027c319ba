"""Calls that write memory which they read: eager refuses them unless the operator works element by element."""

import pytest

from fuzzgraph.grammar import load_rules
from fuzzgraph.ir.types import tensor

BOOK = load_rules()
X = tensor("f32", (4,)).with_(alias="x")
EMPTY = tensor("f32", (0,)).with_(alias="x")
HEAD, TAIL = (tensor("f32", (2,)).with_(alias="x", offset=o) for o in (0, 1))
INDEX = tensor("i64", (4,)).with_(alias="i")


@pytest.mark.parametrize(
    ("op", "args", "kwargs"),
    [
        ("Tensor.add_", (HEAD, TAIL), {}),
        ("Tensor.index_add_", (X, 0, INDEX, X), {}),
        ("Tensor.scatter_", (X, 0, INDEX, X), {}),
        ("index_select", (X, 0, INDEX), {"out": X}),
        ("index_select", (EMPTY, 0, tensor("i64", (0,))), {"out": EMPTY}),
    ],
)
def test_clashes(op, args, kwargs):
    assert "share memory" in str(BOOK.check(op, args, kwargs))


@pytest.mark.parametrize(
    ("op", "args", "kwargs"),
    [
        ("Tensor.add_", (X, X), {}),
        ("Tensor.add_", (HEAD, TAIL.with_(offset=2)), {}),
        ("Tensor.add_", (X, X.with_(alias="y")), {}),
        ("exp", (X,), {"out": X}),
    ],
)
def test_fine(op, args, kwargs):
    assert BOOK.check(op, args, kwargs) is None


def test_no_method_takes_out():
    spellings = BOOK.rules["exp"].spellings_for((X,), {"out": X.with_(alias="y")})
    assert "function" in spellings
    assert "method" not in spellings
