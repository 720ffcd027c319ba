"""Programs that are made to raise: exactly one call is refused, and eager raises."""

from random import Random

import pytest

from fuzzgraph.generate.domains import Knowledge
from fuzzgraph.harness.program import Loaded, identity, run_once
from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.program import rooted_types_in
from fuzzgraph.ir.text import parse
from fuzzgraph.mutators import load
from fuzzgraph.render import render

BREAK = next(m for m in load() if m.name == "break_precondition")
OTHERS = [m for m in load() if m is not BREAK]


@pytest.fixture(scope="module")
def made(corpus, tools):
    found = [BREAK.mutate(p, Random(seed), tools) for p in corpus for seed in range(8)]
    return [p for p in found if p is not None]


def refused(program, tools):
    """Calls that the grammar refuses, and calls whose elements may be out of range."""
    book = tools.book
    calls = [(n, str(n.meta["op"])) for n in program.nodes() if n.meta["op"] in book.rules]
    wrong = {n.name for n, op in calls if book.check(op, rooted_types_in(n.args), rooted_types_in(n.kwargs))}
    b = Builder(None, None, base=program)
    doubts = [d for f in b.functions.values() for d in Knowledge(book, tools.generator.adapters, b, f).doubts()]
    return wrong | {d.node.name for d in doubts}


def test_exactly_one_call_is_refused(made, tools):
    assert len(made) > 30
    for program in made:
        assert program.options.expects_error and len(program.calls) == 1
        assert len(refused(program, tools)) == 1


def test_eager_raises(made, tools):
    errors = [run_once(Loaded.of(render(p, tools.book).source, {}), identity).error for p in made]
    assert sum(e is not None for e in errors) > 0.7 * len(made)
    assert len({type(e) for e in errors}) > 2


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("a = index_select(x, 0, i)", "values full"),
        ("a = sum(x, 0)", "sum(x, "),
        ("a = sum(x, 0)", "sum(x, x)"),
        ("a = index_select(x, 0, i)", "index_select(x, 0, 2)"),
        ("a = index_select(x, 0, i)", "index_select(x, i, i)"),
    ],
)
def test_what_is_violated(tools, body, words):
    text = "fuzzgraph 1\ninput x: f32[6, 4]\ninput i: i64[3] values index(6)\n"
    program = parse(text + f"def f(x, i) {{\n{body}\nreturn (a, i)\n}}\ncall f(x, i)", tools.infer, tools.book.check)
    from fuzzgraph.ir.text import format

    texts = [format(p) for p in (BREAK.mutate(program, Random(s), tools) for s in range(80)) if p is not None]
    assert any(words in t for t in texts)


def test_a_number_that_eager_takes_for_a_tensor_is_no_violation(tools):
    text = "fuzzgraph 1\ninput x: f32[6, 4]\ndef f(x) {\na = mul(x, 2)\nreturn a\n}\ncall f(x)"
    program = parse(text, tools.infer, tools.book.check)
    found = [p for s in range(80) if (p := BREAK.mutate(program, Random(s), tools)) is not None]
    kinds = {tuple(type(a).__name__ for a in p.functions[0].body[-1].args) for p in found}
    assert ("int", "int") not in kinds and ("float", "int") not in kinds  # mul(2, 2) is a tensor


def test_they_are_final(made, tools):
    assert all(m.mutate(p, Random(1), tools) is None for p in made[:6] for m in load())
