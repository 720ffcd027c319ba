"""The language's own operators: closures made inside functions, gradients inside the graph, objects, attributes."""

from typing import Any

import pytest
import torch

from fuzzgraph.errors import ProgramError
from fuzzgraph.ir import text, wire
from fuzzgraph.ir.builtins import resolve
from fuzzgraph.render import render

CLOSURE = """fuzzgraph 1
input x: f32[2, 3] values arange
def inner(a: f32[2, 3]) capturing (k: f32[3, 2], n: int) {
  t: f32[2, 3] = mul(k, n)
  r: f32[2, 2] = matmul(a, t)
  return r
}
def f(x) {
  t: f32[3, 2][1, 3] &x = Tensor.T(x)
  g = closure(inner, t, 2)
  r: f32[2, 2] = call(g, x)
  return r
}
call f(x)
"""
GRADIENT = """fuzzgraph 1
input x: f32[3] grad values arange
def f(x) {
  y: f32[3] grad = mul(x, x)
  s: f32[] grad = sum(y)
  both: (f32[3] grad,) = autograd.grad(s, [x], True)
  g: f32[3] grad = getitem(both, 0)
  return g
}
call f(x)
"""
OBJECT = """fuzzgraph 1
input x: f32[3] values arange
state held: global
def f(x) {
  o = state.object(value = x, n = 2)
  s = state.assign(held, o)
  v: f32[3] = state.getattr(held, "value")
  return v
}
call f(x)
"""


def execute(program: str) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
    parsed = text.parse(program)
    assert text.parse(text.format(parsed)) == parsed and wire.unpack(wire.pack(parsed)) == parsed
    namespace: dict[str, Any] = {"source": render(parsed).source}
    exec(namespace["source"], namespace)
    inputs = namespace["make_inputs"]()
    return namespace, inputs, namespace["run"](lambda f: f, inputs)


def test_closure_made_inside() -> None:
    namespace, inputs, results = execute(CLOSURE)
    assert torch.equal(results[0], inputs["x"] @ inputs["x"].T * 2)
    assert "    t = x.T\n    g = make_inner(t, 2)\n    r = g(x)\n" in namespace["source"]
    assert "def make_inner(k, n):\n    def inner(a):\n" in namespace["source"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("closure(inner, t, 2)", "closure(inner, t)"), ("call(g, x)", "call(inner, x)"),
     ("closure(inner, t, 2)", "closure(inner, inner, 2)")],
)  # fmt: skip
def test_functions_with_captures_are_used_for_closures_only(old: str, new: str) -> None:
    with pytest.raises(ProgramError, match="functions with captures are not"):
        text.parse(CLOSURE.replace(old, new))


def test_gradient() -> None:
    namespace, inputs, results = execute(GRADIENT)
    assert torch.equal(results[0], inputs["x"] * 2) and results[0].requires_grad
    assert "both = torch.autograd.grad(s, [x], create_graph=True)" in namespace["source"]
    plain = render(text.parse(GRADIENT.replace(", True)", ")"))).source
    assert "both = torch.autograd.grad(s, [x])\n" in plain


def test_object() -> None:
    namespace, inputs, results = execute(OBJECT)
    assert results[0] is inputs["x"]
    assert vars(namespace["get_states"]()["held"]) == {"value": inputs["x"], "n": 2}


def test_attributes_of_tensors() -> None:
    x = torch.ones(2, 3)
    assert resolve("Tensor.T")(x).shape == (3, 2) and resolve("Tensor.mH")(x).shape == (3, 2)
    with pytest.raises(ProgramError, match="this torch has no"):
        resolve("Tensor.no_such")
