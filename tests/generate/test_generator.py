"""Whole programs: valid, small, a function of the rng alone, and that eager runs them."""

import json
import os
import statistics
import sys
import types
from random import Random

import pytest
import torch
from torch.utils._pytree import tree_leaves

from fuzzgraph.errors import FuzzgraphError
from fuzzgraph.generate import Generator, Profile
from fuzzgraph.generate.closed import keeps
from fuzzgraph.grammar import RuleBook
from fuzzgraph.ir import text, wire
from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.builtins import BUILTINS
from fuzzgraph.ir.program import type_of
from fuzzgraph.ir.retype import retype
from fuzzgraph.ir.types import TensorType
from fuzzgraph.ir.verify import verify
from fuzzgraph.render import load_forms, render
from tests.generate.worlds import MetaInference, tiny_book

COUNT = 200


@pytest.fixture(scope="module")
def programs(generator):
    return [generator.program(Random(seed)) for seed in range(COUNT)]


def test_they_verify(generator, programs):
    for program in programs:
        assert verify(program, generator.book.check) == []


def test_they_are_small(programs):
    assert statistics.median(p.size for p in programs) <= 5


def test_they_differ(programs):
    assert len({wire.pack(p) for p in programs}) > 0.98 * COUNT


def test_text_and_wire_give_them_back(programs):
    for program in programs[:60]:
        assert text.parse(text.format(program)) == program
        assert wire.unpack(wire.pack(program)) == program


def test_types_are_what_inference_says(generator, programs):
    for program in programs[:60]:
        b = Builder(generator.infer, generator.book.check, base=program)
        retype(b)
        assert b.build() == program


def test_equal_states_give_equal_programs(generator, programs):
    again = Generator(generator.book, generator.infer)
    for seed in range(20):
        assert wire.pack(again.program(Random(seed))) == wire.pack(programs[seed])


def test_breadth(programs):
    """Each feature that real bugs needed is in at least a few of a hundred programs."""
    share = {
        "writes": sum(any(op.endswith("_") for op in ops(p)) for p in programs),
        "odd strides": sum(any(not s.type.is_contiguous for s in p.inputs) for p in programs),
        "size 1": sum(any(1 in s.type.shape for s in p.inputs) for p in programs),
        "rank 0": sum(any(not s.type.shape for s in p.inputs) for p in programs),
        "edge values": sum(any(s.values.kind == "edge" for s in p.inputs) for p in programs),
        "backward": sum(p.options.grad for p in programs),
        "several calls": sum(len(p.calls) > 1 for p in programs),
        "forms": sum(any(f.regions for f in p.functions) for p in programs),
        "narrow integers": sum(any(s.type.dtype in ("u8", "i8", "i16", "bool") for s in p.inputs) for p in programs),
    }
    assert {name for name, count in share.items() if count < 0.04 * COUNT} == set()


def test_fused_programs_are_long_and_keep_their_dtype(generator):
    """Mostly pointwise operators, mostly on one dtype and one shape: what the compiler puts into one kernel."""
    profile = Profile(fused=1.0, fused_themes=(("i16", 1.0),), options=0.0)
    fused = Generator(generator.book, generator.infer, profile)
    found = [fused.program(Random(seed)) for seed in range(40)]
    assert statistics.median(p.size for p in found) >= 8
    families = [generator.book.rules[op].family for p in found for op in ops(p) if op in generator.book.rules]
    assert sum(f in dict(profile.fused_families) for f in families) > 0.7 * len(families)
    kinds = [k for p in found for k in map(type_of, p.nodes()) if isinstance(k, TensorType)]
    assert sum(k.dtype == "i16" for k in kinds) > 0.3 * len(kinds)


def ops(program):
    return [str(n.meta["op"]) for n in program.nodes()]


def test_a_tiny_book_is_enough():
    book = tiny_book()
    generator = Generator(book, MetaInference(book), Profile(options=0.0))
    for seed in range(30):
        assert set(ops(generator.program(Random(seed)))) <= {*book.rules, *BUILTINS}


def test_what_may_show_in_a_further_call_only_is_called_again():
    book = tiny_book()
    profile = Profile(options=0.0, form=1.0, more_forms=0.0, numbers=0.0, surroundings=0.0)
    shares = {}
    for name in ("python_fact", "python_condition"):
        one = Generator(book, MetaInference(book), profile, forms={name: load_forms()[name]})
        made = [p for p in map(one.program, map(Random, range(60))) if any(f.regions for f in p.functions)]
        shares[name] = sum(len(p.calls) > 1 for p in made) / len(made)
    assert shares["python_condition"] < 0.35 < shares["python_fact"]


def test_no_rules_no_program():
    with pytest.raises(FuzzgraphError, match="no program"):
        Generator(RuleBook({}), MetaInference(RuleBook({}))).program(Random(0))


def test_eager_runs_them(generator, programs):
    """At most 2 of 200 fail, backward included; of 1,000 it should be under 10."""
    failed = run_in_child([(render(p, generator.book).source, p.options.grad) for p in programs])
    assert len(failed) <= 2, failed


def run_in_child(programs: list[tuple[str, bool]]) -> list[tuple[int, str]]:
    """What goes wrong when a forked child runs sources in eager: (index, error)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writer, "w") as out:
            for number, (source, grad) in enumerate(programs):
                out.write(json.dumps([number, trouble(source, grad)]) + "\n")
                out.flush()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        results = dict(json.loads(line) for line in lines)
    _, status = os.waitpid(child, 0)
    failed = [(number, error) for number, error in results.items() if error]
    return failed if status == 0 else [*failed, (len(results), f"the child died: {status}")]


def trouble(source: str, grad: bool) -> str:
    # Operators that call functions compile them in eager, too, for which torch 2.13 imports their module.
    module = sys.modules["program"] = types.ModuleType("program")
    space = vars(module)
    try:
        torch.manual_seed(0)
        exec(source, space)
        results = space["run"](lambda f: f, space["make_inputs"]())
        outputs = [t for t in tree_leaves(results) if isinstance(t, torch.Tensor) and t.requires_grad]
        if grad and outputs:
            torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])
    except Exception as e:
        return f"{type(e).__name__}: {str(e)[:200]}"
    return ""


def test_what_stays_in_a_dtype(generator):
    rules = generator.book.rules
    assert all(keeps(rules[op], "i16") for op in ("abs", "minimum", "add", "bitwise_and", "Tensor.add_", "clamp"))
    assert not any(keeps(rules[op], "i16") for op in ("sin", "div", "eq", "isnan", "float_power"))
    assert all(keeps(rules[op], "f32") for op in ("sin", "div", "add", "lerp"))
    assert not any(keeps(rules[op], "bool") for op in ("sin", "Tensor.lerp_"))
