"""Rules whose operands depend on each other: what they take together, and what not."""

import pytest

from fuzzgraph.grammar import load_rules
from fuzzgraph.ir.types import FunctionType, tensor

BOOK = load_rules()
Y = tensor("f32", (3, 4))


@pytest.mark.parametrize("op", ["trapz", "trapezoid", "cumulative_trapezoid"])
def test_points_are_given_or_their_distance(op: str) -> None:
    assert BOOK.check(op, (Y,), {}) is None and BOOK.check(op, (Y,), {"dx": 2}) is None
    assert BOOK.check(op, (Y, tensor("f32", (4,))), {}) is None and BOOK.check(op, (Y, Y), {"dim": 0}) is None
    assert BOOK.check(op, (Y, tensor("i64", (3,))), {"dim": 0}) is None
    assert BOOK.check(op, (Y, tensor("f32", (3,))), {}) is not None
    assert "dx is None" in str(BOOK.check(op, (Y, tensor("f32", (4,))), {"dx": 1}))


def test_a_scan_runs_along_any_dim_of_two_elements() -> None:
    op, generic = "_higher_order_ops.associative_scan", {"combine_mode": "generic"}
    assert all(BOOK.check(op, (FunctionType(), Y, dim), generic) is None for dim in (0, 1, -1))
    assert "size_at" in str(BOOK.check(op, (FunctionType(), tensor("f32", (3, 1)), 1), generic))


def test_scales_are_both_of_the_matrix_or_both_of_rows() -> None:
    a, b, one = tensor("f8e4m3", (3, 4)), tensor("f8e5m2", (4, 2)), tensor("f32", ())
    rows, columns = tensor("f32", (3, 1)), tensor("f32", (1, 2))
    assert BOOK.check("_scaled_mm", (a, b, one, one), {}) is None
    assert BOOK.check("_scaled_mm", (a, b, rows, columns), {}) is None
    assert BOOK.check("_scaled_mm", (a, b, rows, one), {}) is not None
