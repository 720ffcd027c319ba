"""Programs and literals that the tests of ir share."""

from typing import Any

import torch
from hypothesis import strategies as st

from fuzzgraph.ir.infer import Inferred
from fuzzgraph.ir.program import TorchName
from fuzzgraph.ir.types import (
    DTYPES,
    LARGEST,
    AnyType,
    NoneType,
    ScalarType,
    SequenceType,
    TensorType,
    UnsizedType,
    contiguous_strides,
    scalar,
    tensor,
)

# One of everything that the language has.
FULL = '''fuzzgraph 1
input x: i16[4, 8] values ints(-3, 3) seed 1
input y: f32[8][2]+1 grad values edge storage 20 dynamic(0)
input z: f32[2] view of y
const w: f32[8] values normal seed 7
state log: list = [1, (2, {"k": None})]
state count: global = 0
option dynamic = True
option grad = True
option config.inductor.cpp.simdlen = 1

def helper(a: f32[8]) {
  r: f32[8] = sin(a)
  return r
}

def f(x, y, n) {
  a: i16[4, 8] = abs(x)
  form inner_function {
    b: i16[4, 8] = mul(a, x) as method
    form autocast(torch.bfloat16) {
      s = state.append(log, b)
    }
  }
  h: f32[8] = call(helper, y)
  m: f32[8] = mul(h, w) as operator
  k: (i16[4], i64[4]) = max(x, 1, keepdim = False)
  v: i16[4] &k = getitem(k, 0)
  p = python(v, n) """
    if n:
        p = "quoted"
"""
  t: f32[8] = Tensor.add_(m, -0.0, alpha = inf)
  return (b, [m, {"v": v, 1: (p,)}], t, complex(-0.0, nan))
}

def g(y) capturing (op, k) {
  r = call(op, y, k)
  return r
}
closure plus = g(op = torch.Tensor.__add__, k = 2)
closure own = g(k = w, op = plus)
call f(x, y, 1) with no_grad, default_dtype(torch.float64)
call plus(y)
call own(z) fresh
'''


class ByName:
    """Type inference that knows pointwise operators: the type of the first tensor operand, dense, without alias.

    `views` are operators whose result shares its first operand's storage; `refused` raise.
    """

    def __init__(self, views: tuple[str, ...] = (), refused: tuple[str, ...] = ()) -> None:
        self.views, self.refused = views, refused
        self.calls: list[str] = []

    def infer(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inferred:
        self.calls.append(op)
        if op in self.refused:
            return Inferred(None, f"RuntimeError: no {op} today")
        first = next(a for a in args if isinstance(a, TensorType))
        if op in self.views:
            return Inferred(first.with_(requires_grad=False), None, (0,))
        return Inferred(tensor(first.dtype, first.shape), None, (None,))


NAMES = st.sampled_from(["a", "x1", "value", "_private"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6),
    st.complex_numbers(allow_nan=True, allow_infinity=True), st.just(...),
    st.sampled_from([torch.float16, torch.channels_last, torch.strided, torch.device("cpu"), torch.device("cuda", 1)]),
    st.sampled_from(["torch.Tensor.__add__", "torch.nn.functional.gelu"]).map(TorchName),
)  # fmt: skip
BOUNDS = st.none() | st.integers(-9, 9)
LITERALS = st.recursive(
    st.one_of(SCALARS, st.builds(slice, BOUNDS, BOUNDS, BOUNDS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3) | st.integers(-5, 5), inner, max_size=3),
    ),
    max_leaves=8,
)  # fmt: skip


@st.composite
def tensor_types(draw: st.DrawFn) -> TensorType:
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=4)))
    dense = draw(st.booleans())
    stride = contiguous_strides(shape) if dense else tuple(draw(st.integers(0, 99)) for _ in shape)
    dtype = draw(st.sampled_from(sorted(DTYPES)))
    grad = DTYPES[dtype].kind in ("float", "complex") and draw(st.booleans())
    device = draw(st.sampled_from(["cpu", "cuda", "cuda:1"]))
    return TensorType(dtype, shape, stride, draw(st.integers(0, 5)), device, grad, draw(st.none() | NAMES))


@st.composite
def unsized_types(draw: st.DrawFn) -> UnsizedType:
    shape = [None, *draw(st.lists(st.none() | st.integers(0, 9), max_size=3))]
    dtype = draw(st.sampled_from(sorted(DTYPES)))
    grad = DTYPES[dtype].kind in ("float", "complex") and draw(st.booleans())
    return UnsizedType(dtype, tuple(draw(st.permutations(shape))), "cpu", grad, draw(st.none() | NAMES))


NUMBERS = st.booleans() | st.integers(-LARGEST + 1, LARGEST - 1) | st.floats(allow_nan=False, allow_infinity=False)
TYPES = st.recursive(
    st.one_of(
        tensor_types(), unsized_types(), NUMBERS.map(scalar),
        st.sampled_from(["int", "float", "bool", "complex", "str"]).map(ScalarType),
        st.sampled_from([NoneType(), AnyType()]),
    ),
    lambda inner: st.builds(
        SequenceType, st.sampled_from(["tuple", "list"]), st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=5,
)  # fmt: skip
