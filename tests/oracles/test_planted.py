"""Guard, equivalence, fake and randomness find faults planted in the compiler, and nothing in programs without."""

from pathlib import Path

import pytest

from fuzzgraph.campaign.config import Config
from fuzzgraph.campaign.parts import JobMaker
from fuzzgraph.campaign.task import Origin, Task
from fuzzgraph.execution.executor import Executor
from fuzzgraph.execution.infer import InferClient
from fuzzgraph.generate import Generator, variants
from fuzzgraph.generate.variants import Variants
from fuzzgraph.grammar import load_rules
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.text import parse
from fuzzgraph.oracles import equivalence

pytestmark = pytest.mark.compiles


@pytest.fixture(scope="module")
def world():
    with InferClient() as infer, Executor(preload=[Path(__file__).parent / "planted.py"]) as executor:
        book = load_rules()
        yield book, infer, Variants(Generator(book, infer)), executor


def failures(world, text, oracle):
    book, infer, maker, executor = world
    program = parse("fuzzgraph 1\n" + text, infer, book.check)
    task = Task(0, program, content_hash(program), Origin("seed"), "confirm")
    job = JobMaker(Config(oracles=(oracle,)), book, maker)(task)
    assert list(job.plans) == [oracle]
    outcome = executor.run([job])[0]
    assert not outcome.notes
    return outcome.failures


GRAD = """input x: f32[5] grad values normal
option grad = True
def f(x) {{
  a = {op}(x)
  b = mul(a, 2.0)
  return b
}}
call f(x) with no_grad"""


def test_a_guard_that_is_missing(world, monkeypatch):
    monkeypatch.setattr(variants, "CHANGES", {"grad mode": variants.CHANGES["grad mode"]})
    found = failures(world, GRAD.format(op="cos"), "guard")
    assert {f.oracle for f in found} == {"guard"}
    assert [f.kind for f in found] == ["missing"]  # of gradients: one failure, however it shows
    assert {f.variant for f in found} == {"grad mode"}


def test_guards_that_are_there(world, monkeypatch):
    monkeypatch.setattr(variants, "CHANGES", {"other size": variants.CHANGES["other size"]})
    assert failures(world, GRAD.format(op="cos"), "guard") == ()


PLAIN = """input x: f32[40] values normal
def f(x) {{
  a = {op}(x)
  return (a, x)
}}
call f(x)"""


@pytest.mark.parametrize(("op", "kinds"), [("sin", ["value"]), ("cos", [])])
def test_a_setting_that_changes_values(world, monkeypatch, op, kinds):
    monkeypatch.setattr(equivalence, "SETTINGS", {"inductor.cpp.simdlen": (1,)})
    monkeypatch.setattr(equivalence, "AGAIN_SHARE", 0.0)
    found = failures(world, PLAIN.format(op=op), "equivalence")
    assert [f.kind for f in found] == kinds
    assert all((f.oracle, f.variant) == ("equivalence", "inductor.cpp.simdlen=1") for f in found)


@pytest.mark.parametrize(("op", "kinds"), [("erfc", ["dtype"]), ("erf", [])])
def test_a_meta_kernel_that_lies(world, op, kinds):
    found = failures(world, PLAIN.format(op=op), "fake")
    assert [(f.oracle, f.kind) for f in found] == [("fake", kind) for kind in kinds]


DRAWING = """input x: f32{shape} values normal
def f(x) {{
  r = rand_like(x)
  a = add(r, x)
  return (r, a)
}}
call f(x)"""


@pytest.mark.parametrize(("shape", "kinds"), [([6, 8], ["repeated"]), ([48], [])])
def test_rows_that_draw_the_same(world, shape, kinds):
    found = failures(world, DRAWING.format(shape=shape), "randomness")
    assert [(f.oracle, f.kind) for f in found] == [("randomness", kind) for kind in kinds]
