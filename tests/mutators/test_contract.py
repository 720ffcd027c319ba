"""What operators that call functions may rely on, whatever mutators do to these."""

import pytest

from fuzzgraph.ir.builder import Builder
from fuzzgraph.mutators._edit import Contract
from tests.generate.worlds import program, tiny_book

BOOK = tiny_book()


def contract(x: str, y: str, result: str) -> Contract:
    text = f"input x: {x}\ninput y: {y}\ndef f(x, y) {{\n a = relu(x)\n b = neg(y)\n return {result}\n}}\ncall f(x, y)"
    return Contract.of(Builder(None, None, base=program(text, BOOK)).functions["f"])


OLD = contract("f32[4]", "i64[2]", "(a, b)")


@pytest.mark.parametrize(
    ("x", "y", "result", "kept"),
    [
        ("f32[4]", "i64[2]", "(a, b)", True),
        ("f32[4][2]", "i64[2]", "(a, b)", True),  # strides are not its business
        ("f64[4]", "i64[2]", "(a, b)", False),
        ("f32[4]", "i64[2]", "(a, a)", False),
        ("f32[4]", "i64[2]", "(b, a)", False),
        ("f32[4]", "i64[2]", "[a, b]", False),
        ("f32[4]", "i64[2]", "(a, b, b)", False),
        ("f32[4]", "i64[2]", "a", False),
    ],
)
def test_contracts(x: str, y: str, result: str, kept: bool) -> None:
    assert contract(x, y, result).keeps(OLD) == kept


def test_control_is_how_the_first_result_comes_about() -> None:
    assert OLD.control == "x = None(){}; a = relu(x,){}"
    assert contract("f32[4]", "i64[2]", "(a, b, b)").control == OLD.control
    assert contract("f32[4]", "i64[2]", "b").control == "y = None(){}; b = neg(y,){}"
