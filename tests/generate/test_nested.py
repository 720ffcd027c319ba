"""Operators that call functions of the program: generated, mutated, and run by eager."""

from random import Random

import pytest

from fuzzgraph.generate import Generator, Profile
from fuzzgraph.generate.hazards import foreign, impure
from fuzzgraph.generate.numbers import Numbers
from fuzzgraph.generate.options import set_needs
from fuzzgraph.generate.surroundings import hold_in_transform
from fuzzgraph.generate.surroundings.helpers import TRANSFORMS
from fuzzgraph.ir import text, wire
from fuzzgraph.ir.builder import Builder, Rejected
from fuzzgraph.ir.nested import called_by_operators
from fuzzgraph.ir.program import op_of
from fuzzgraph.ir.retype import retype
from fuzzgraph.ir.types import FunctionType, tensor
from fuzzgraph.ir.verify import verify
from fuzzgraph.mutators import Tools, load
from fuzzgraph.render import render
from tests.generate.test_generator import run_in_child
from tests.generate.worlds import tiny_book

COUNT = 60
FAMILY = "nested"


@pytest.fixture(scope="module")
def rich(generator):
    """A generator of programs that mostly have such operators."""
    profile = Profile(families=((FAMILY, 40.0),), operators=((1, 1), (2, 1)), fused=0, form=0, calls=0, surroundings=0)
    return Generator(generator.book, generator.infer, profile)


@pytest.fixture(scope="module")
def programs(rich):
    made = (rich.program(Random(seed)) for seed in range(COUNT))
    return [p for p in made if called_by_operators(p.nodes())]


def operators(book, program):
    return [op_of(n) for n in program.nodes() if op_of(n) in book.rules and book.rules[op_of(n)].family == FAMILY]


def test_each_such_operator_is_made(rich, programs):
    assert len(programs) > COUNT / 2
    found = {op for p in programs for op in operators(rich.book, p)}
    assert len(found) >= 8


def test_they_are_whole(rich, programs):
    for program in programs:
        assert verify(program, rich.book.check) == []
        assert text.parse(text.format(program)) == program
        assert wire.unpack(wire.pack(program)) == program
        b = Builder(rich.infer, rich.book.check, base=program)
        assert impure(rich.book, b) is None
        retype(b)
        assert b.build() == program
        # Functions that attempts left behind are gone.
        assert {f.name for f in program.functions} == called_by_operators(program.nodes()) | {"f"}


def test_eager_runs_them(rich, programs):
    failed = run_in_child([(render(p, rich.book).source, p.options.grad) for p in programs])
    assert len(failed) <= 1, failed


def test_mutants_of_them_are_whole(rich, programs):
    tools = Tools(rich.book, rich.infer, rich, lambda rng: rng.choice(programs))
    made = 0
    for number, mutator in enumerate(load()):
        for seed in range(4):
            rng = Random(100 * number + seed)
            mutant = mutator.mutate(rng.choice(programs), rng, tools)
            if mutant is None or mutant.options.expects_error:
                continue
            made += 1
            assert verify(mutant, rich.book.check) == []
            assert text.parse(text.format(mutant)) == mutant
            b = Builder(None, None, mutant)
            assert (impure(rich.book, b), foreign(rich.book, b)) == (None, None)
    assert made > 30


def test_settings_that_an_operator_needs():
    book = tiny_book("""
op relu(input)
  input : tensor real
  needs dynamo.capture_scalar_outputs = True
""")
    source = """fuzzgraph 1
input x: f32[3]
option mode = "{mode}"
def f(x) {{ y: f32[3] = {op}(x) return y }}
call f(x)
"""
    for op, config in (("relu", (("dynamo.capture_scalar_outputs", True),)), ("neg", ())):
        b = Builder(None, None, text.parse(source.format(op=op, mode="reduce-overhead")))
        set_needs(book, b)
        assert b.options.config == config
        # torch.compile takes a mode or settings.
        assert b.options.mode == ("reduce-overhead" if op == "neg" else None)


def test_a_loop_has_a_counter_first(generator):
    """The rule wants what makes it end; torch would take any tensors."""
    counter, other = tensor("i64", ()), tensor("f32", (4,))
    for carried, fine in (((counter, other), True), ((other, counter), False), ((tensor("i64", (1,)), other), False)):
        reason = generator.book.check("_higher_order_ops.while_loop", (FunctionType(), FunctionType(), carried), {})
        assert (reason is None) == fine, reason


def test_functions_hold_what_their_caller_takes():
    book = tiny_book("""
op vmap.of(func, x)
  x : tensor any [*S:1..4]
  func : function
  functions neg
""")
    source = """fuzzgraph 1
input x: f32[3]
def g(a: f32[]) {{ b: f32[] = {op}(a) return b }}
def f(x) {{ y: f32[3] = vmap.of(g, x) return y }}
call f(x)
"""
    assert foreign(book, Builder(None, None, text.parse(source.format(op="neg")))) is None
    reason = foreign(book, Builder(None, None, text.parse(source.format(op="abs"))))
    assert reason == "vmap.of calls g, and takes no abs in it"


TRANSFORMED = """fuzzgraph 1
input x: f32[4] values normal
def part(a: f32[4]) {{
  b: f32[4] = sin(a)
  c: f32[4] = mul(b, a)
  s: f32[{size}] = {last}(c)
  return s
}}
def f(x) {{
  r: f32[4] = {op}(part, x)
  return r
}}
call f(x)
"""


@pytest.mark.parametrize("op", sorted(TRANSFORMS))
def test_an_autograd_function_in_what_is_differentiated(op, generator):
    """It is whole, and eager runs it: written in the way that the transform asks for."""
    book = generator.book
    shape = {"size": "4", "last": "exp"} if op == "vmap.of" else {"size": "", "last": "sum"}
    text_of = TRANSFORMED.format(op=op, **shape).replace("r: f32[4] = func.grad_and", "r = func.grad_and")
    program = text.parse(text_of, generator.infer, book.check)
    made, sources = set(), []
    for seed in range(12):
        b = Builder(generator.infer, book.check, base=program)
        try:
            hold_in_transform(Numbers(book, generator.adapters, b, b.functions["f"]), Random(seed))
        except Rejected:
            continue
        b.stale = True
        found = b.build()
        assert text.parse(text.format(found), generator.infer, book.check) == found
        (held,) = found.closures
        assert held.args[1] in TRANSFORMS[op]
        made.add(text.format(found))
        sources.append((render(found, book).source, False))
    assert len(made) >= 5
    assert run_in_child(sources) == []
