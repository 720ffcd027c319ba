"""Traits: what programs have, by name; every name can be had, and whatever is had has a name."""

from __future__ import annotations

import pytest

from fuzzgraph.feedback.traits import FIXED, LAYOUTS, Describer, names
from fuzzgraph.grammar import load_rules
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.text import parse, parse_file
from fuzzgraph.ir.types import TensorType
from fuzzgraph.render import load_forms
from fuzzgraph.resources import data_dir

MEMORY = """fuzzgraph 1
input x: f32[4, 6] dynamic(0)
input v: f32[4] view of x
input w: f32[4, 6] grad
option grad = True
option mode = "default"
def f(x, v, w) {
  a: f32[6, 4][1, 6] &x = transpose(x, 0, 1)
  b: f32[6, 4][1, 6] &x = Tensor.add_(a, 1)
  c: f32[4, 6] = mul(w, w)
  d: f32[6] &c = select(c, 0, 0)
  o: f32[4] = empty([4])
  e: f32[4] &o = add(v, v, out = o)
  return (x, [a, c, c], d)
}
call f(x, v, w)
call f(x, v, w) with no_grad fresh
"""
PLAIN = "fuzzgraph 1\ninput x: i8[3] values edge\ndef f(x) {\n  y: i8[3] = neg(x)\n  return y\n}\ncall f(x)\n"


@pytest.fixture(scope="module")
def describe() -> Describer:
    return Describer(load_rules())


def known() -> set[str]:
    return {f"{group}/{name}" for group, found in names(load_forms()).items() for name in found}


def test_a_plain_program_has_little(describe: Describer) -> None:
    assert describe(parse(PLAIN)) == {"dtype/i8", "values/edge", "layout/contiguous"}


def test_a_rich_program(describe: Describer) -> None:
    found = describe(parse(MEMORY))
    assert {t for t in found if t.startswith("memory/")} == {
        "memory/in-place", "memory/in-place on a view", "memory/view", "memory/view of an intermediate", "memory/out=",
        "memory/aliased inputs", "memory/returned input", "memory/returned view of an input", "memory/returned twice",
    }  # fmt: skip
    assert {t for t in found if t.startswith("script/")} == {
        "script/gradient", "script/input that requires grad", "script/marked dynamic", "script/dynamic",
        "script/calls 2+", "script/compiled anew",
    }  # fmt: skip
    assert {"context/no_grad", "option/grad", "option/mode", "structure/nested container returned"} <= found


@pytest.mark.parametrize(
    ("shape", "stride", "offset", "has"),
    [
        ((), (), 0, {"0-d"}),
        ((0, 3), (3, 1), 0, {"zero-size"}),
        ((4, 3), (3, 1), 2, {"contiguous", "offset"}),
        ((4, 3), (1, 4), 0, {"transposed", "permuted"}),
        ((2, 3, 4), (1, 8, 2), 0, {"permuted"}),
        ((2, 3, 4, 5), (60, 1, 15, 3), 0, {"permuted", "channels_last"}),
        ((2, 3, 4, 5, 2), (120, 1, 30, 6, 3), 0, {"permuted", "channels_last_3d"}),
        ((4,), (2,), 0, {"gaps"}),
        ((4, 3), (0, 1), 0, {"expanded"}),
        ((4, 3), (1, 1), 0, {"overlapping"}),
        ((1, 3), (7, 1), 0, {"size 1", "contiguous", "stray stride of a size 1"}),
    ],
)
def test_layouts(shape: tuple[int, ...], stride: tuple[int, ...], offset: int, has: set[str]) -> None:
    kind = TensorType("f32", shape, stride, offset)
    assert {name for name, holds in LAYOUTS.items() if holds(kind)} == has


def test_an_out_operand_is_no_write_in_place(describe: Describer) -> None:
    text = PLAIN.replace("y: i8[3] = neg(x)", "o: i8[3] = empty_like(x)\n  y: i8[3] &o = neg(x, out = o)")
    found = describe(parse(text))
    assert "memory/out=" in found and "memory/in-place" not in found and "memory/view" not in found


def test_an_operator_that_takes_a_function_nests_graphs(describe: Describer) -> None:
    text = PLAIN.replace("def f(x)", "def g(x) {\n  z: i8[3] = abs(x)\n  return z\n}\n\ndef f(x)")
    assert "structure/nested graph" not in describe(parse(text.replace("neg(x)", "call(g, x)")))
    nested = parse(text.replace("neg(x)", "call(g, x)"))
    node = next(n for n in nested.function("f").body)
    node.meta["op"] = "func.vmap"
    assert "structure/nested graph" in describe(nested)


@pytest.fixture(scope="module")
def shipped() -> list[Program]:
    files = [*(data_dir("corpus") / "seeds").glob("*.fg"), *(data_dir("corpus") / "regressions").glob("[0-9]*.fg")]
    return [parse_file(str(file)) for file in sorted(files)]


def test_whatever_is_had_has_a_name(describe: Describer, shipped: list[Program]) -> None:
    found = set().union(*map(describe, shipped))
    assert found <= known()


def test_every_name_that_no_registry_gives_can_be_had(describe: Describer, shipped: list[Program]) -> None:
    twice = parse(PLAIN.replace("def f(x)", "def f(x, z)").replace("f(x)\n", "f(x, x)\n"))
    found = set().union(*map(describe, [parse(MEMORY), twice, *shipped]))
    # Nested graphs are above: no program that is shipped has one.
    missing = {f"{g}/{n}" for g, several in FIXED.items() for n in several} - found
    assert missing <= {"structure/nested graph"}


def test_names_follow_the_registries() -> None:
    found = names({"a_new_form": None, **load_forms()})  # type: ignore[dict-item]
    assert "a_new_form" in found["form"] and "f32" in found["dtype"] and "fullgraph" in found["option"]
