"""Adapters: the table in grammar/adapters.toml, filling in and reading back."""

from random import Random

import pytest

from fuzzgraph.generate.adapt import PURPOSES, Adapter, Adapters
from fuzzgraph.grammar import ValueDomain, load_rules
from fuzzgraph.grammar.wants import DOMAINS
from fuzzgraph.ir.builder import Builder
from tests.generate.worlds import MetaInference, program, tiny_book

BOOK = tiny_book()


@pytest.mark.parametrize("purpose", PURPOSES)
def test_every_purpose_is_served_by_a_rule(purpose):
    assert Adapters(load_rules()).table[purpose]


def test_every_domain_is_a_purpose():
    assert set(DOMAINS) <= set(PURPOSES)


def test_reading_gives_back_what_was_filled_in():
    b = Builder(MetaInference(BOOK), BOOK.check, base=program("input x: i64[4]\ndef f(x) { return x }\ncall f(x)"))
    f = b.functions["f"]
    adapter = Adapter("remainder", ("$x", "$n"), {})
    node = f.op(adapter.op, *adapter.fill({"x": f.node("x"), "n": 7}))
    assert adapter.read(node) == {"x": f.node("x"), "n": 7}
    assert Adapter("narrow", ("$x", "$n"), {}).read(node) is None
    assert Adapter("remainder", ("$x", 8), {}).read(node) is None


def test_bounds_that_are_tensors_or_left_out_say_nothing():
    b = Builder(MetaInference(BOOK), BOOK.check, base=program("input x: i64[4]\ndef f(x) { return x }\ncall f(x)"))
    f = b.functions["f"]
    node = f.op("add", (f.node("x"), f.node("x")))
    assert Adapter("add", ("$x", "$n"), {}).read(node) is None
    node.args = (f.node("x"), None)
    assert Adapter("add", ("$x", "$n"), {}).read(node) is None


def test_applying_adds_one_call_and_knows_it_again():
    b = Builder(MetaInference(BOOK), BOOK.check, base=program("input x: i64[4]\ndef f(x) { return x }\ncall f(x)"))
    f, adapters = b.functions["f"], Adapters(BOOK)
    node = adapters.apply("index", f, Random(0), x=f.node("x"), n=7, top=6)
    assert node is not None
    assert [n.meta["op"] for n in f.body] == ["remainder"]
    assert adapters.served(node, "index") == {"x": f.node("x"), "n": 7}


def test_what_the_rules_refuse_is_left_out():
    b = Builder(MetaInference(BOOK), BOOK.check, base=program("input x: f32[4]\ndef f(x) { return x }\ncall f(x)"))
    f = b.functions["f"]
    assert Adapters(BOOK).apply("index", f, Random(0), x=f.node("x"), n=7, top=6) is None
    assert f.body == []


def test_domains_have_no_other_kinds():
    with pytest.raises(KeyError):
        ValueDomain("prime").draw("i64", Random(0))
