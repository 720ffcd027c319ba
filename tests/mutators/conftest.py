"""Tools over the shipped rules, and a corpus of small programs that between them have what mutators look for."""

import pytest

from fuzzgraph.execution.infer import InferClient
from fuzzgraph.generate import Generator
from fuzzgraph.grammar import load_rules
from fuzzgraph.grammar.patterns import PatternBook
from fuzzgraph.ir.text import parse
from fuzzgraph.mutators import Tools

TEXTS = [
    """input x: f32[4, 8] values normal seed 1
    input y: f32[8] values edge seed 2
    def f(x, y) {
      a = add(x, y, alpha = 2)
      b = relu(a)
      c = sum(b, 0, keepdim = True)
      return (b, c)
    }
    call f(x, y)""",
    """input x: i16[3, 5] values ints(-3, 3)
    def f(x) {
      a = abs(x)
      b = minimum(a, x)
      return b
    }
    call f(x)""",
    """input x: f32[6, 4] values normal
    input i: i64[3] values index(6)
    def f(x, i) {
      a = index_select(x, 0, i)
      b = mul(a, 2.0)
      return {"r0": b}
    }
    call f(x, i)
    call f(x, i) with no_grad""",
    """input x: f32[4, 4] grad values normal
    input w: f32[4, 4] grad values uniform
    option grad = True
    def f(x, w) {
      a = matmul(x, w)
      b = softmax(a, -1)
      return [b]
    }
    call f(x, w)""",
    """input x: f64[8][2] values normal seed 3
    input v: f64[4] view of x
    def f(x, v) {
      a = Tensor.mul_(v, 2)
      b = add(x, 1)
      form no_grad {
        c = exp(b)
      }
      return (a, c)
    }
    call f(x, v)""",
    """input x: f16[2, 3, 4, 4] values normal
    const w: f16[3] values full(1)
    option dynamic = True
    option config.inductor.max_fusion_size = 1
    def f(x) {
      a = cummax(x, 1)
      b = getitem(a, 0)
      c = clamp(b, -1.0, 1.0)
      d = narrow(c, 0, 0, 1)
      e = mul(w, 3.0)
      return (c, (d, e), 3)
    }
    call f(x)""",
    """input x: f32[4, 6] values normal seed 1
    input i: i64[3] values ints(0, 5)
    def f(x, i) {
      n = Tensor.size(x, 0) as subscript
      m = operator.floordiv(n, 2) as operator
      a = reshape(x, (m, 12))
      s = sum(i)
      t = Tensor.item(s)
      b = mul(a, t)
      p = nonzero(i)
      q = sum(p)
      return (b, q, n)
    }
    call f(x, i)""",
]


@pytest.fixture(scope="session")
def world():
    with InferClient() as infer:
        book = load_rules()
        yield book, infer


@pytest.fixture(scope="session")
def corpus(world):
    book, infer = world
    return [parse("fuzzgraph 1\n" + text, infer, book.check) for text in TEXTS]


@pytest.fixture(scope="session")
def tools(world, corpus):
    book, infer = world
    return Tools(book, infer, Generator(book, infer), lambda rng: rng.choice(corpus), PatternBook(infer.patterns))
