"""Writes that autograd refuses, each against what eager does."""

import pytest

from fuzzgraph.generate.adapt import Adapters
from fuzzgraph.generate.hazards import hazard, impure
from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.text import parse
from tests.generate.worlds import program, tiny_book

BOOK = tiny_book()


def problem(
    body: str, inputs: str = "input x: f32[4] grad", calls: str = "call f(x)", grad: bool = True
) -> str | None:
    text = f"{inputs}\noption grad = {grad}\ndef f(x) {{ {body} }}\n{calls}"
    return hazard(BOOK, Adapters(BOOK), Builder(None, BOOK.check, base=program(text, BOOK)))


@pytest.mark.parametrize(
    "body",
    [
        "a = Tensor.neg_(x) return a",
        "v = narrow(x, 0, 1, 2) a = Tensor.neg_(v) return a",
        "a = relu(x) b = Tensor.neg_(a) return b",
        "c = clone(x) a = Tensor.mul_(c, c) return a",
    ],
)
def test_refused(body):
    assert problem(body) is not None


@pytest.mark.parametrize(
    "body",
    [
        "c = clone(x) a = Tensor.neg_(c) return a",
        "c = clone(x) v = narrow(c, 0, 1, 2) a = Tensor.neg_(v) b = relu(c) return b",
    ],
)
def test_fine(body):
    assert problem(body) is None


def test_without_grad_all_is_fine():
    assert problem("a = Tensor.neg_(x) b = Tensor.relu_(a) return b", "input x: f32[4]") is None


def test_an_input_may_join_the_graph_once():
    inputs = "input x: f32[4]\nconst w: f32[4] grad"
    assert problem("a = Tensor.add_(x, w) return a", inputs) is None
    assert problem("a = Tensor.add_(x, w) return a", inputs, "call f(x)\ncall f(x)") is not None


def test_a_second_call_must_not_write_what_the_first_saved():
    inputs = "input x: f32[4]\nconst w: f32[4] grad"
    body = "a = Tensor.neg_(x) b = mul(x, w) return b"
    assert problem(body, inputs) is None
    assert problem(body, inputs, "call f(x)\ncall f(x)") is not None


@pytest.mark.parametrize(("dtype", "refused"), [("f16", True), ("bf16", False), ("f32", False)])
@pytest.mark.parametrize("place", ["option", "call"])
def test_autocast_meets_one_half_dtype_only(dtype, refused, place):
    option, context = ('option autocast = "bf16"', "") if place == "option" else ("", ' with autocast("bf16")')
    inputs = f"input x: {dtype}[4]\n{option}"
    assert (problem("a = neg(x) return a", inputs, "call f(x)" + context, grad=False) is not None) is refused


def test_gradients_of_a_call_under_autocast():
    """Compiled code multiplied in bfloat16 there: a wrong gradient that torch documents."""
    within = 'call f(x) with autocast("bf16")'
    assert problem("a = neg(x) return a", "input x: f32[4]", within) is not None
    assert problem("a = neg(x) return a", "input x: f32[4]", within, grad=False) is None


def test_autocast_to_two_half_dtypes():
    inputs = 'input x: f32[4]\noption autocast = "f16"'
    assert problem("a = neg(x) return a", inputs, 'call f(x) with autocast("bf16")', grad=False) is not None


NESTED = """fuzzgraph 1
input x: f32[3] values normal
def g(a: f32[3]) {{ {body} }}
def f(x) {{ y: f32[3] = vmap.of(g, x) return y }}
call f(x)
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("b: f32[3] = clone(a) return b", None),
        ("b: f32[3] = clone(a) c: f32[3] &b = Tensor.neg_(b) return b", "called by an operator, and c has effects"),
        ("b: f32[3] = clone(a) return (b, b)", "returns a view of what it is given, or one storage twice"),
        ("b: f32[3] &a = reshape(a, (3,)) return b", "returns a view of what it is given"),
        ("return a", "returns a view of what it is given"),
    ],
)
def test_functions_that_operators_call_are_pure(body: str, words: str | None) -> None:
    found = impure(BOOK, Builder(None, None, parse(NESTED.format(body=body))))
    assert found is None if words is None else words in str(found)
