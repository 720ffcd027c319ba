"""Python numbers of sizes and of data, and sizes that depend on data: types, text, rendering, generation, reduction."""

from random import Random

import pytest
import torch

from fuzzgraph.errors import ProgramError
from fuzzgraph.generate.numbers import Numbers
from fuzzgraph.generate.script import changed_sizes
from fuzzgraph.generate.terms import Terms
from fuzzgraph.ir import text, wire
from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.builtins import resolve
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.program import InputSpec, type_of
from fuzzgraph.ir.types import ScalarType, UnsizedType, scalar, tensor
from fuzzgraph.minimize._reduction import make_tools, reduced
from fuzzgraph.minimize.reducers.drop_nodes import DropNodes
from fuzzgraph.oracles._taint import taint
from fuzzgraph.render import render

SIZES = """fuzzgraph 1
input x: f32[4, 6] values normal seed 1
def f(x) {
  n = Tensor.size(x, 0) as subscript
  m = operator.floordiv(n, 2) as operator
  y = reshape(x, (m, 12))
  h = operator.truediv(m, n)
  c = math.ceil(h)
  k = operator.gt(n, 3) as operator
  w = sym_ite(k, c, 5) as conditional
  said = _check(k)
  s = Tensor.size(x) as shape
  z = mul(y, w)
  o = Tensor.new_zeros(x, s)
  return (z, n, o)
}
call f(x)
"""
DATA = """fuzzgraph 1
input x: f32[4, 6] values normal seed 1
input i: i64[3] values ints(0, 5)
def f(x, i) {
  a = sum(i)
  t = Tensor.item(a)
  u = operator.mod(t, 4) as operator
  v = Tensor.__getitem__(x, slice(None, u, None)) as subscript
  p = nonzero(i)
  q = mul(p, 2)
  r = sum(q)
  n = Tensor.size(p, 0)
  e = mul(x, n)
  return (v, r, e)
}
call f(x, i)
"""


@pytest.fixture
def parse(generator):
    return lambda program: text.parse(program, generator.infer, generator.book.check)


def types(program):
    return {n.name: type_of(n) for n in program.nodes()}


def test_numbers_of_sizes_have_values(parse):
    found = types(parse(SIZES))
    assert [found[n] for n in "nmhckw"] == [scalar(v) for v in (4, 2, 0.5, 1, True, 1)]
    assert (found["y"].shape, found["o"].shape) == ((2, 12), (4, 6))
    assert found["s"].items == (scalar(4), scalar(6))


def test_numbers_and_sizes_of_data_have_none(parse):
    found = types(parse(DATA))
    assert found["t"] == found["u"] == found["n"] == ScalarType("int")
    assert found["v"] == UnsizedType("f32", (None, 6), alias="x")
    assert (found["p"], found["q"]) == (UnsizedType("i64", (None, 1)),) * 2
    assert (found["r"].shape, found["e"].shape) == ((), (4, 6))


@pytest.mark.parametrize("program", [SIZES, DATA])
def test_round_trips(parse, program):
    found = parse(program)
    written = text.format(found)
    assert text.parse(written) == parse(written) == wire.unpack(wire.pack(found)) == found
    assert content_hash(text.parse(written)) == content_hash(found)


def test_values_are_written_and_may_be_left_out(parse):
    assert "n: int(4) = Tensor.size(x, 0) as subscript" in text.format(parse(SIZES))
    assert "v: f32[?, 6] &x = " in text.format(parse(DATA))
    assert parse(SIZES.replace("n = ", "n: int = ")) == parse(SIZES)
    with pytest.raises(ProgramError, match=r"n is int\(4\), the text says int\(5\)"):
        parse(SIZES.replace("n = ", "n: int(5) = "))
    with pytest.raises(ProgramError, match=r"'0\.5' is no int"):
        parse(SIZES.replace("n = ", "n: int(0.5) = "))


def test_values_follow_shapes(parse, generator):
    b = Builder(generator.infer, generator.book.check, base=parse(SIZES))
    b.set_input("x", InputSpec("x", tensor("f32", (2, 6))))
    f = b.functions["f"]
    f.erase(f.node("said"))  # what it says no longer holds
    found = types(b.build())
    assert [found[n] for n in "nm"] == [scalar(2), scalar(1)]
    assert found["y"].shape == (1, 12)


def test_a_condition_that_does_not_hold_is_refused(parse):
    with pytest.raises(ProgramError, match="_check"):
        parse(SIZES.replace("x: f32[4, 6]", "x: f32[2, 6]"))


def test_written_as_people_write_it(parse, generator):
    source = render(parse(SIZES), generator.book).source
    assert source.startswith("import math\nimport operator\n\nimport torch\n")
    body = source[source.index("def f(x):") : source.index("\n\n\ndef normal")]
    assert body.splitlines() == [
        "def f(x):",
        "    n = x.shape[0]",
        "    m = n // 2",
        "    y = torch.reshape(x, (m, 12))",
        "    h = operator.truediv(m, n)",
        "    c = math.ceil(h)",
        "    k = n > 3",
        "    w = c if k else 5",
        "    torch._check(k)",
        "    s = x.shape",
        "    z = torch.mul(y, w)",
        "    o = x.new_zeros(s)",
        "    return z, n, o",
    ]


@pytest.mark.compiles
@pytest.mark.parametrize("program", [SIZES, DATA])
def test_compiled_is_what_eager_is(parse, generator, program):
    space: dict = {}
    exec(render(parse(program), generator.book).source, space)
    eager = space["run"](lambda f: f, space["make_inputs"]())
    compiled = space["run"](lambda f: torch.compile(f, backend="eager", dynamic=True), space["make_inputs"]())
    torch.testing.assert_close(compiled, eager)


UNSIZED = UnsizedType("f32", (None, 3))


@pytest.mark.parametrize(
    ("op", "args", "fine"),
    [
        ("sum", (UNSIZED,), True),
        ("mul", (UNSIZED, 2), True),
        ("mul", (UNSIZED, tensor("f32", (3,))), True),
        ("mul", (UNSIZED, tensor("f32", (2, 3))), False),
        ("mul", (UNSIZED, UNSIZED), False),  # two sizes are never known to be equal
        ("amax", (UNSIZED,), False),  # there may be no element
        ("Tensor.mul_", (UNSIZED, 2), False),
        ("Tensor.__getitem__", (tensor("f32", (4,)), slice(None, ScalarType("int"))), True),
        ("narrow", (tensor("f32", (4,)), 0, 0, ScalarType("int")), False),
        ("mul", (tensor("f32", (4,)), ScalarType("int")), True),
        ("operator.mod", (ScalarType("int"), 4), True),
        ("operator.mod", (4, ScalarType("int")), False),
        ("math.ceil", (ScalarType("float"),), False),  # infinity has none
        ("reshape", (tensor("f32", (4, 2)), (scalar(2), 4)), True),
        ("reshape", (tensor("f32", (4, 2)), (scalar(3), 4)), False),
    ],
)
def test_rules_on_what_depends_on_data(generator, op, args, fine):
    assert (generator.book.check(op, args, {}) is None) == fine


def test_no_function_of_pythons_that_does_more_than_compute():
    for op in ("builtins.exec", "builtins.open", "operator.__add__", "math.no_such"):
        with pytest.raises(ProgramError, match="no such function"):
            resolve(op)


def function(parse, generator, program):
    b = Builder(generator.infer, generator.book.check, base=parse(program))
    return b, b.functions["f"]


def test_terms_have_the_value_that_is_wanted(parse, generator):
    ops = set()
    for seed in range(60):
        _, f = function(parse, generator, SIZES)
        terms = Terms(generator.book, f, f.node("z"), Random(seed))
        target = (1, 2, 3, 6, 8, 24)[seed % 6]
        term = terms.equal_to(target)
        if term is not None:
            node = terms.write(term)
            assert type_of(node) == scalar(target)
            ops.add(node.meta["op"])
    assert len(ops) >= 6


def test_literals_are_replaced_in_place(parse, generator):
    plain = """fuzzgraph 1
input x: f32[4, 6] values normal seed 1
def f(x) {
  a = reshape(x, (2, 12))
  b = mul(a, 2.5)
  return b
}
call f(x)
"""
    done, kinds = 0, set()
    for seed in range(40):
        b, f = function(parse, generator, plain)
        before = wire.pack(b.build())
        if not Numbers(generator.book, generator.adapters, b, f).replace_literal(Random(seed)):
            assert wire.pack(b.build()) == before
            continue
        done += 1
        program = b.build()
        found = types(program)
        kinds |= {"of data" if k.value is None else "known" for k in found.values() if isinstance(k, ScalarType)}
        assert (found["a"].shape, found["b"].dtype) == ((2, 12), "f32")
    assert done > 30
    assert kinds == {"of data", "known"}


def test_sizes_of_data_are_brought_in(parse, generator):
    made = 0
    for seed in range(20):
        b, f = function(parse, generator, SIZES)
        if Numbers(generator.book, generator.adapters, b, f).unsized(Random(seed)):
            made += any(isinstance(type_of(n), UnsizedType) for n in b.build().nodes())
    assert made > 10


def test_inputs_of_other_sizes():
    x, y = InputSpec("x", tensor("f32", (4, 8))), InputSpec("y", tensor("f32", (4,)))
    seen = set()
    for seed in range(200):
        found = changed_sizes([x, y], Random(seed))
        shapes = {n: s.type.shape for n, s in found.items()}
        one = len(shapes) == 1
        seen.add("one" if one else "zero" if 0 in shapes.get("x", ()) else "none" if not shapes else "everywhere")
        if len(shapes) == 2 and shapes["y"] != (4,):
            assert shapes["x"][0] == shapes["y"][0]
            seen.add("multiples" if shapes["x"][1] == 2 * shapes["x"][0] != 8 else "same")
    assert seen == {"one", "zero", "none", "everywhere", "multiples", "same"}


def test_numbers_are_reduced_to_their_values(parse, generator):
    tools = make_tools(generator.book, generator.infer)
    program = parse(SIZES)
    changes = [c for c in DropNodes().changes(program, tools) if c.place in ("f.m", "f.w")]
    assert [c.how for c in changes if c.place == "f.m"] == [
        "2 for operator.floordiv", "n for m = operator.floordiv"
    ]  # fmt: skip
    smaller = reduced(program, [c for c in changes if c.how == "2 for operator.floordiv"], tools)
    assert "reshape(x, (2, 12))" in text.format(smaller)


def test_taint_follows_data_and_not_sizes(parse, generator):
    program = """fuzzgraph 1
input x: f32[4] values normal seed 1
def f(x) {
  s = sin(x)
  n = Tensor.size(s, 0)
  a = mul(x, n)
  p = nonzero(s)
  c = Tensor.size(p, 0)
  d = nonzero(x)
  return (a, p, c, d)
}
call f(x)
"""
    assert taint(parse(program), generator.book).outputs == [[0, 1], [0, 2]]
