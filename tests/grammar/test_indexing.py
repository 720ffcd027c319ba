"""Subscripts: a tuple, or one item alone, which may be a tensor."""

import pytest

from fuzzgraph.grammar import load_rules
from fuzzgraph.grammar.wants import ValueDomain
from fuzzgraph.ir.types import tensor

BOOK = load_rules()
ROWS = tensor("f32", (5, 3))


@pytest.mark.parametrize("dtype", ["i32", "i64"])
@pytest.mark.parametrize(("op", "more"), [("Tensor.__getitem__", ()), ("Tensor.__setitem__", (1.0,))])
def test_one_tensor_needs_no_tuple(op: str, more: tuple[float, ...], dtype: str) -> None:
    index, rule = tensor(dtype, (2,)), BOOK.rules[op]
    for spelled in (index, (index,)):
        assert rule.check((ROWS, spelled, *more), {}) is None
        assert rule.domains((ROWS, spelled, *more), {}) == {1: ValueDomain("index", 5)}


def test_one_mask_needs_no_tuple() -> None:
    assert BOOK.check("Tensor.__setitem__", (ROWS, tensor("bool", (5,)), 1.0), {}) is None
    assert "depend on data" in str(BOOK.check("Tensor.__getitem__", (ROWS, tensor("bool", (5,))), {}))


def test_floats_are_no_index() -> None:
    for index in (tensor("f32", (2,)), (tensor("f32", (2,)),)):
        assert BOOK.check("Tensor.__getitem__", (ROWS, index), {}) is not None
