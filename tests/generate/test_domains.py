"""What is known of the elements of values."""

import pytest

from fuzzgraph.generate.adapt import Adapters
from fuzzgraph.generate.domains import Knowledge, drawn_from
from fuzzgraph.grammar import ValueDomain
from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.types import tensor
from fuzzgraph.ir.values import Values
from tests.generate.worlds import program, tiny_book

BOOK = tiny_book()


def knowledge(text: str) -> Knowledge:
    b = Builder(None, BOOK.check, base=program(text, BOOK))
    return Knowledge(BOOK, Adapters(BOOK), b, b.functions["f"])


def holds(text: str, name: str, domain: ValueDomain) -> bool:
    know = knowledge(text)
    return know.holds(domain, know.f.node(name))


INDEX = ValueDomain("index", 5.0)


def test_an_index_input():
    text = "input i: i64[3] values index(5)\ndef f(i) { return i }\ncall f(i)"
    assert holds(text, "i", INDEX)
    assert not holds(text, "i", ValueDomain("index", 4.0))


def test_every_call_counts():
    text = """input i: i64[3] values index(5)
    input j: i64[3] values index(9)
    def f(i) { return i }
    call f(i)
    call f(j)"""
    assert not holds(text, "i", INDEX)


def test_a_written_input_is_not_known():
    text = """input i: i64[3] values index(5)
    def f(i) {
      a = Tensor.add_(i, 1)
      return a
    }
    call f(i)"""
    assert not holds(text, "i", INDEX)


def test_a_write_through_another_input_that_shares_its_storage():
    text = """input i: i64[3] values index(5)
    input j: i64[2] view of i
    def f(i, j) {
      a = Tensor.add_(j, 1)
      return a
    }
    call f(i, j)"""
    assert not holds(text, "i", INDEX)


def test_a_view_of_an_index_is_one():
    text = """input i: i64[3] values index(5)
    def f(i) {
      a = narrow(i, 0, 1, 2)
      b = neg(i)
      return (a, b)
    }
    call f(i)"""
    assert holds(text, "a", INDEX)
    assert not holds(text, "b", INDEX)


def test_an_adapter_makes_an_index():
    text = """input x: i64[3] values edge
    def f(x) {
      a = remainder(x, 5)
      return a
    }
    call f(x)"""
    assert holds(text, "a", INDEX)
    assert not holds(text, "a", ValueDomain("index", 4.0))


def test_doubts_name_the_operand():
    know = knowledge("""input x: f32[4]
    input i: i64[3] values ints(-1, 9)
    def f(x, i) {
      a = take(x, i)
      return a
    }
    call f(x, i)""")
    assert [(d.node.name, d.at, d.operand.name) for d in know.doubts()] == [("a", 1, "i")]


@pytest.mark.parametrize(
    ("domain", "values", "dtype", "expected"),
    [
        (INDEX, Values("ints", (0, 4)), "i64", True),
        (INDEX, Values("ints", (-1, 4)), "i64", False),
        (INDEX, Values("ints", (-9, 4)), "u8", True),  # clipped to the dtype
        (INDEX, Values("bools"), "i32", True),
        (INDEX, Values("full", (5,)), "i64", False),
        (ValueDomain("unique", 8.0), Values("permutation"), "i64", True),
        (ValueDomain("unique", 7.0), Values("permutation"), "i64", False),
        (ValueDomain("between", 0.0, 1.0), Values("uniform"), "f32", True),
        (ValueDomain("between", 0.0, 1.0), Values("normal"), "f32", False),
        (ValueDomain("nonzero"), Values("ints", (1, 3)), "i8", True),
        (ValueDomain("nonzero"), Values("ints"), "i8", False),
        (ValueDomain("nonzero"), Values("normal"), "f32", True),
        (ValueDomain("sorted"), Values("arange"), "f32", True),
        (ValueDomain("sorted"), Values("arange", (126, 1)), "i8", False),  # wraps around
    ],
)
def test_distributions(domain, values, dtype, expected):
    assert drawn_from(domain, values, tensor(dtype, (8,))) is expected
