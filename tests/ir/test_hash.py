"""The content hash: names and derived types do not count, everything else does."""

import re

import pytest

from fuzzgraph.ir import text, wire
from fuzzgraph.ir.hash import content_hash, skeleton_hash
from fuzzgraph.ir.program import Program
from tests.ir.programs import FULL

# Names inside verbatim source are its own, so this has none.
PLAIN = re.sub(r"  p = python.*?\"\"\"\n    if.*?\"\"\"\n", "", FULL, flags=re.S).replace(", 1: (p,)", "")


def parsed(program: str) -> Program:
    return text.parse(program)


def test_equal_programs_have_equal_hashes() -> None:
    assert content_hash(parsed(FULL)) == content_hash(wire.unpack(wire.pack(parsed(FULL))))
    assert re.fullmatch(r"[0-9a-f]{64}", content_hash(parsed(FULL)))


@pytest.mark.parametrize("name", [*"xyzwabshmkvtn", "log", "count", "op"])
def test_names_do_not_count(name: str) -> None:
    other = re.sub(rf"(?<![\w.\"]){name}\b(?!\")", f"{name}_renamed", PLAIN)
    assert other != PLAIN
    assert content_hash(parsed(other)) == content_hash(parsed(PLAIN))


@pytest.mark.parametrize("name", ["helper", "f", "g", "plus", "own"])
def test_names_of_functions_do_not_count(name: str) -> None:
    other = re.sub(rf"(?<![\w.\"]){name}(?=\(|,| =|\))", f"{name}_renamed", PLAIN)
    assert other != PLAIN
    assert content_hash(parsed(other)) == content_hash(parsed(PLAIN))


def test_derived_types_do_not_count() -> None:
    other = PLAIN.replace("a: i16[4, 8] = abs", "a: i16[4, 8][1, 4]+3 &x = abs")
    assert content_hash(parsed(other)) == content_hash(parsed(PLAIN))


def test_the_order_of_bindings_does_not_count() -> None:
    other = PLAIN.replace("g(k = w, op = plus)", "g(op = plus, k = w)")
    assert other != PLAIN
    assert content_hash(parsed(other)) == content_hash(parsed(PLAIN))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("values ints(-3, 3) seed 1", "values ints(-3, 4) seed 1"),
        ("seed 1", "seed 2"),
        ("storage 20", "storage 21"),
        ("f32[8][2]+1 grad", "f32[8][2]+1"),
        ("f32[8][2]+1", "f32[8][2]+2"),
        ("dynamic(0)", ""),
        ("view of y", ""),
        ("i16[4, 8] values", "i32[4, 8] values"),
        ("log: list = [1, ", "log: list = [2, "),
        ("count: global = 0", "count: global = 0.0"),
        ("option dynamic = True", "option dynamic = False"),
        ("simdlen = 1", "simdlen = True"),
        ("= abs(x)", "= neg(x)"),
        ("form inner_function", "form no_grad"),
        ("bfloat16", "float16"),
        ("as method", ""),
        ("max(x, 1, ", "max(x, 0, "),
        ("keepdim = False", "keepdim = True"),
        ("getitem(k, 0)", "getitem(k, 1)"),
        ("Tensor.add_(m, -0.0", "Tensor.add_(m, 0.0"),
        ("alpha = inf", "alpha = nan"),
        ("return (b, [m, ", "return (m, [b, "),
        ("complex(-0.0, nan)", "complex(0.0, nan)"),
        ("Tensor.__add__", "Tensor.__mul__"),
        ("k = 2)", "k = 3)"),
        ("call f(x, y, 1)", "call f(x, y, 2)"),
        ("with no_grad, ", "with "),
        (" fresh", ""),
        ("mul(h, w)", "mul(w, h)"),
        ("own(z)", "own(y)"),
    ],
)
def test_everything_else_counts(old: str, new: str) -> None:
    other = PLAIN.replace(old, new, 1)
    assert other != PLAIN
    assert content_hash(parsed(other)) != content_hash(parsed(PLAIN))


def test_verbatim_source_keeps_names() -> None:
    other = FULL.replace('p = "quoted"', 'p = "other"')
    assert content_hash(parsed(other)) != content_hash(parsed(FULL))
    names = re.sub(r"\bt\b", "t_", FULL)
    assert content_hash(parsed(names)) != content_hash(parsed(FULL))


CASE = """fuzzgraph 1
input x: f32[4, 3] values normal seed 1
def f(x) {
  a: f32[4, 2] = narrow(x, 1, 0, 2)
  b: f32[2] = sum(a, [0], keepdim = False)
  return b
}
call f(x)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("normal seed 1", "edge(0.5) seed 2"),
        ("x: f32[4, 3]", "x: f32[4, 3][1, 4]+2"),
        ("f32[4, 3] values", "f32[4, 3] dynamic(0) values"),
        ("narrow(x, 1, 0, 2)", "narrow(x, 0, 1, 3)"),
        ("[0], keepdim = False", "[0, 1], keepdim = True"),
        ("a: f32[4, 2] = narrow", "a: f32[9, 2] = narrow"),
        ("call f(x)", "call f(x)\ncall f(x) with no_grad"),
        ("input x", "option dynamic = True\ninput x"),
        ("f32[4, 3]", "f32[7, 1]"),
        ("a", "renamed"),
    ],
)
def test_sizes_and_values_are_no_part_of_the_skeleton(old: str, new: str) -> None:
    other = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, CASE)
    assert other != CASE
    assert skeleton_hash(parsed(other)) == skeleton_hash(parsed(CASE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("narrow(", "select("),
        ("sum(a", "sum(x"),
        ("x: f32[4, 3]", "x: f64[4, 3]"),
        ("return b", "return (b, a)"),
        (", keepdim = False", ""),
        (", keepdim = False", ", dtype = torch.float64"),
        ("call f(x)", "input y: f32[4, 3]\ncall f(x)\ncall f(y)"),
        ("  b: f32[2] = sum(a, [0], keepdim = False)\n",
         "  form no_grad {\n    b: f32[2] = sum(a, [0], keepdim = False)\n  }\n"),
    ],
)
def test_what_the_skeleton_is(old: str, new: str) -> None:
    other = CASE.replace(old, new, 1)
    assert other != CASE
    assert skeleton_hash(parsed(other)) != skeleton_hash(parsed(CASE))
