"""What forms are told about regions, and which regions they are put around."""

from random import Random
from typing import Any

import pytest

from fuzzgraph.generate.regions import draw_region, drop_misfits, facts_of
from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.program import Region
from fuzzgraph.render.forms import Facts, Plain
from tests.generate.worlds import RULES, program, tiny_book

SPLIT = """
op split(tensor, split_size)
  tensor     : tensor any [*S:1..5]
  split_size : int(1, 9)
  alias tensor
"""
BOOK = tiny_book(RULES + SPLIT)


class Fitting(Plain):
    """A form that takes what a test says."""

    def __init__(self, name: str, taken: bool) -> None:
        self.name, self.taken = name, taken
        self.asked: list[Facts] = []

    def fits(self, facts: Facts) -> bool:
        self.asked.append(facts)
        return self.taken


class Old(Plain):
    name = "old"


def builder(body: str, inputs: str = "input x: f32[4]") -> Any:
    return Builder(None, BOOK.check, base=program(f"{inputs}\ndef f(x) {{ {body} }}\ncall f(x)", BOOK))


def facts(body: str, first: str, last: str, inputs: str = "input x: f32[4]") -> Facts:
    b = builder(body, inputs)
    f = b.functions["f"]
    names = [n.name for n in f.body]
    return facts_of(BOOK, b, f, f.body[names.index(first) : names.index(last) + 1])


def test_what_crosses_the_border() -> None:
    found = facts("a = neg(x) b = mul(a, a) c = mul(b, x) return (a, c)", "b", "c")
    assert [t.dtype for t in found.reads] == ["f32", "f32"] and len(found.results) == 1  # type: ignore[union-attr]
    assert found.families == {rule.family for rule in BOOK.rules.values()}
    assert found.functional and found.repeatable and found.separate and not found.grad
    assert facts("a = neg(x) return a", "a", "a", "input x: f32[4] grad").grad


@pytest.mark.parametrize(
    ("body", "region", "expected"),
    [
        ("c = clone(x) a = Tensor.neg_(c) return a", ("c", "a"), set()),
        ("c = clone(x) a = Tensor.neg_(c) return a", ("a", "a"), {"writes", "shared"}),
        ("c = clone(x) a = Tensor.neg_(c) return (c, a)", ("c", "a"), {"shared"}),
        ("c = clone(x) a = Tensor.neg_(c) return c", ("c", "c"), {"rewritten"}),
        ("c = clone(x) b = neg(c) a = Tensor.neg_(c) return b", ("b", "b"), {"disturbed"}),
        ("c = clone(x) a = Tensor.neg_(c) b = neg(c) return b", ("b", "b"), {"disturbed"}),
        ("c = clone(x) v = narrow(c, 0, 1, 2) a = Tensor.neg_(v) return c", ("c", "c"), {"rewritten"}),
        ("v = narrow(x, 0, 1, 2) return v", ("v", "v"), {"shared"}),
        ("c = clone(x) s = split(c, 2) v = getitem(s, 0) a = Tensor.neg_(v) return a", ("c", "s"), {"rewritten"}),
        ("s = split(x, 2) v = getitem(s, 0) return v", ("s", "s"), {"shared"}),
        ("b = neg(x) return b", ("b", "b"), set()),
    ],
)
def test_memory(body: str, region: tuple[str, str], expected: set[str]) -> None:
    found = facts(body, *region)
    assert {k for k in ("writes", "disturbed", "rewritten", "shared") if getattr(found, k)} == expected


def test_effects_on_python_state_are_named() -> None:
    inputs = "input x: f32[4]\nstate log: list = []\nstate n: global = 0"
    found = facts("a = neg(x) s = state.append(log, a) t = state.assign(n, 3) return a", "a", "s", inputs)
    assert found.effects == {"state.append"} and found.movable and not found.functional
    assert not facts("a = neg(x) t = state.assign(n, 3) return a", "a", "t", inputs).movable


def test_forms_that_do_not_fit_are_not_drawn() -> None:
    b = builder("a = neg(x) b = neg(a) return b")
    yes, no = Fitting("yes", True), Fitting("no", False)
    forms = {"yes": yes, "no": no}
    drawn = [draw_region(BOOK, b, b.functions["f"], forms, Random(seed)) for seed in range(20)]
    assert {r.form for r in drawn if r} == {"yes"} and no.asked
    assert draw_region(BOOK, b, b.functions["f"], {"no": no}, Random(0)) is None
    assert draw_region(BOOK, b, b.functions["f"], {"old": Old()}, Random(0)) is not None


def test_forms_that_no_longer_fit_go() -> None:
    b = builder("a = neg(x) b = neg(a) return b")
    f = b.functions["f"]
    f.regions += [Region("yes", "a", "a"), Region("no", "b", "b"), Region("elsewhere", "b", "b")]
    drop_misfits(BOOK, b, f, {"yes": Fitting("yes", True), "no": Fitting("no", False)})
    assert [r.form for r in f.regions] == ["yes", "elsewhere"]
