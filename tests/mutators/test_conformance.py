"""What every mutator must hold, each in turn over the corpus and over generated programs."""

from random import Random

import pytest

from fuzzgraph.ir import text, wire
from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.program import type_of
from fuzzgraph.ir.retype import retype
from fuzzgraph.ir.verify import verify
from fuzzgraph.mutators import load

MUTATORS = load()
SEEDS = range(4)
GENERATED = 12


@pytest.fixture(scope="session")
def programs(corpus, tools):
    return [*corpus, *(tools.generator.program(Random(seed)) for seed in range(GENERATED))]


@pytest.fixture(scope="module", params=MUTATORS, ids=lambda m: m.name)
def mutated(request, programs, tools):
    """(mutator, original, seed, result) for all programs and seeds."""
    mutator = request.param
    return [(mutator, p, s, mutator.mutate(p, Random(s), tools)) for p in programs for s in SEEDS]


def test_all_there_are():
    assert len(MUTATORS) >= 16
    assert all(m.weight > 0 and m.name.isidentifier() for m in MUTATORS)


def test_results_are_valid_and_others(mutated, tools):
    for _, program, _, result in mutated:
        if result is not None:
            assert verify(result, tools.book.check) == []
            assert content_hash(result) != content_hash(program)


def test_the_input_stays_as_it_was(request, programs, tools):
    before = [wire.pack(p) for p in programs]
    for mutator in MUTATORS:
        for program in programs:
            mutator.mutate(program, Random(7), tools)
    assert [wire.pack(p) for p in programs] == before


def test_equal_states_give_equal_results(mutated, tools):
    for mutator, program, seed, result in mutated[::3]:
        rng = Random(seed)
        again = mutator.mutate(program, rng, tools)
        assert (again and wire.pack(again)) == (result and wire.pack(result))


def test_nothing_is_drawn_from_global_state(mutated, tools):
    import random

    before = random.getstate()
    mutator, program, seed, _ = mutated[0]
    mutator.mutate(program, Random(seed), tools)
    assert random.getstate() == before


def test_text_and_wire_give_results_back(mutated):
    for _, _, _, result in mutated:
        if result is not None:
            assert text.parse(text.format(result)) == result
            assert wire.unpack(wire.pack(result)) == result


def test_types_are_what_inference_says(mutated, tools):
    for _, _, _, result in mutated[::3]:
        if result is not None:
            b = Builder(tools.infer, tools.book.check, base=result)
            retype(b)
            assert b.build() == result


def test_each_succeeds_often(mutated):
    done = sum(result is not None for *_, result in mutated)
    assert done >= 0.2 * len(mutated)


def test_results_can_be_mutated_on(mutated, tools):
    results = [r for *_, r in mutated if r is not None][:6]
    for number, program in enumerate(results):
        for mutator in MUTATORS:
            found = mutator.mutate(program, Random(number), tools)
            assert found is None or verify(found, tools.book.check) == []


def test_what_is_inserted_is_often_of_a_dtype_that_is_there(tools, corpus):
    """So that a program whose values are all of one narrow dtype keeps to it."""
    program = corpus[1]
    assert {s.type.dtype for s in program.inputs} == {"i16"}
    mutator = next(m for m in load() if m.name == "insert_node")
    made = [m for m in (mutator.mutate(program, Random(seed), tools) for seed in range(60)) if m is not None]
    narrow = [m for m in made if sum(dtype_of(n) == "i16" for n in m.nodes()) > 2]
    assert len(made) > 40
    assert len(narrow) > 0.3 * len(made)


def dtype_of(node):
    return getattr(type_of(node), "dtype", None)
