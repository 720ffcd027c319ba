"""Further calls of the script: on inputs that share memory in another way than those of the first call."""

from random import Random
from typing import Any

import torch

from fuzzgraph.generate import Generator
from fuzzgraph.generate.script import KINDS, draw_call
from fuzzgraph.harness.program import Loaded, identity, run_once
from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.text import format, parse
from fuzzgraph.render import render
from tests.generate.worlds import MetaInference, program, tiny_book

BOOK = tiny_book()
INFER = MetaInference(BOOK)
APART = """input x: f32[4] values normal
input y: f32[3] values normal seed 1
def f(x, y) {
  a = relu(x)
  b = neg(y)
  return (a, b)
}
call f(x, y)"""


def called_again(text: str, kind: str, seeds: int = 20) -> list[Program]:
    """The programs with one call more of that kind, where there is a place for one."""
    found = []
    for seed in range(seeds):
        b = Builder(INFER, BOOK.check, base=program(text, BOOK))
        draw_call(b, b.functions["f"], b.calls[0], Generator(BOOK, INFER).fits, Random(seed), kind)
        made = b.build()
        assert parse(format(made)) == made
        if len(made.calls) == 2:
            found.append(made)
    return found


def sharing(made: Program) -> list[bool]:
    """For each call, whether its two inputs lie in one storage."""
    space: dict[str, Any] = {}
    exec(render(made, BOOK).source, space)
    inputs = space["make_inputs"]()
    pairs = [[inputs[a.name].untyped_storage()._cdata for a in call.args] for call in made.calls]
    return [a == b for a, b in pairs]


def test_inputs_that_were_apart_share_memory() -> None:
    found = called_again(APART, "memory")
    assert "memory" in KINDS and len(found) > 10
    assert all(sharing(made) == [False, True] for made in found)
    assert len({made.inputs[-1].type.offset for made in found}) > 2
    for made in found:
        run = run_once(Loaded.of(render(made, BOOK).source, {}), identity)
        assert run.error is None and torch.is_tensor(run.results[1][0])


def test_inputs_that_shared_memory_are_apart() -> None:
    text = APART.replace("values normal seed 1", "view of x")
    found = called_again(text, "memory")
    assert len(found) == 20 and all(sharing(made) == [True, False] for made in found)


def test_what_is_written_may_not_overlap_with_what_is_read() -> None:
    """Eager refuses that of add_, as its rule says."""
    text = APART.replace("f32[3]", "f32[4]").replace("a = relu(x)", "a = Tensor.add_(x, y)")
    for made in called_again(text, "memory", 40):
        assert run_once(Loaded.of(render(made, BOOK).source, {}), identity).error is None, format(made)
    assert called_again(text, "values")


def test_leaves_that_require_grad_stay_apart() -> None:
    assert called_again(APART.replace("values normal seed 1", "grad values normal"), "memory") == []
