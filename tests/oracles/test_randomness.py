"""Random numbers: what eager runs under several seeds have in common, and compiled runs have not."""

import functools

import pytest
import torch
from fakes import FakeTools, run

from fuzzgraph.harness.program import Loaded, Variant, identity, run_once
from fuzzgraph.ir.text import parse
from fuzzgraph.oracles import randomness
from fuzzgraph.render.check import random_count, random_unequal, random_value
from tests.generate.worlds import tiny_book


def drawn(shape, seed):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def runs(make, seeds):
    return [make(seed) for seed in seeds]


def kinds(eager, compiled):
    """`eager` and `compiled` make a run from a seed."""
    theirs, ours = runs(eager, range(8)), runs(compiled, range(100, 103))
    found = {
        "repeated": random_count(theirs, ours), "unequal": random_unequal(theirs, ours),
        "value": random_value(theirs, ours), "varied": random_count(theirs, ours, more=True),
    }  # fmt: skip
    return [kind for kind, words in found.items() if words]


def once(seed):
    r = drawn((4, 6), seed)
    return {"r": r, "twice": r * 2, "masked": torch.where(r > 0.5, r, 0), "mask": (r > 0.5) * 1.0, "n": 3}


def test_other_numbers_are_no_difference():
    assert kinds(once, once) == []


def rows_repeat(seed):
    return {**once(seed), "r": drawn((6,), seed).expand(4, 6)}


def masks_repeat(seed):
    found = once(seed)
    return {**found, "mask": found["mask"][:1].expand(4, 6)}


def drawn_anew(seed):
    found = once(seed)
    return {**found, "masked": found["masked"].roll(1)}


def drawn_for_each_row(seed):
    return {"r": drawn((4, 6), seed)}


def drawn_for_all(seed):
    return {"r": drawn((6,), seed).expand(4, 6)}


def drawn_once_for_two(seed):
    r = drawn((4, 6), seed)
    return {"a": r, "b": r.t().contiguous()}


def drawn_for_two(seed):
    return {"a": drawn((4, 6), seed), "b": drawn((6, 4), seed + 1000)}


def equal(seed):
    return {"a": once(seed)["r"], "b": once(seed)["r"].clone()}


def unequal(seed):
    return {"a": once(seed)["r"], "b": once(seed + 1000)["r"]}


@pytest.mark.parametrize(
    ("eager", "compiled", "found"),
    [
        (once, rows_repeat, ["repeated"]),
        (once, masks_repeat, ["repeated", "unequal"]),
        (once, drawn_anew, ["unequal"]),
        (drawn_for_all, drawn_for_each_row, ["varied"]),
        (drawn_for_two, drawn_once_for_two, ["repeated"]),
        (drawn_once_for_two, drawn_for_two, ["varied"]),
        (equal, unequal, ["unequal", "varied"]),
        (unequal, equal, ["repeated"]),
    ],
)
def test_what_is_found(eager, compiled, found):
    assert kinds(eager, compiled) == found
    assert kinds(eager, eager) == kinds(compiled, compiled) == []


def test_what_no_seed_changes_must_be_the_same():
    def eager(seed):
        r = drawn((4, 6), seed)
        return {"one": (r[0] == r[1]).all(), "r": r, "few": drawn((), seed) > 0.5}

    assert kinds(eager, lambda seed: {**eager(seed), "one": torch.tensor(True)}) == ["value"]
    # What is the same for some seeds is none of it, nor is a result of another shape.
    assert kinds(eager, lambda seed: {**eager(seed), "few": torch.tensor(False), "r": drawn((2, 2), 0)}) == []


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.bool])
def test_all_dtypes_are_counted(dtype):
    def make(seed):
        numbers = drawn((5, 8), seed) * 100
        if dtype == torch.bool:
            return {"a": numbers > 50}
        numbers = torch.where(numbers > 90, torch.nan, numbers) if dtype.is_floating_point else numbers
        return {"a": numbers.to(dtype)}

    assert kinds(make, make) == []
    repeated = kinds(make, lambda seed: {"a": make(seed)["a"][:1].expand(5, 8)})
    assert repeated == ["repeated"]


def test_it_asks_only_programs_that_draw():
    text = "fuzzgraph 1\ninput x: f32[3]\ndef f(x) {\n a: f32[3] = %s(x)\n return a\n}\ncall f(x)"
    book = tiny_book()
    assert "random" not in book.rules["relu"].tags
    assert randomness.plan(parse(text % "relu"), book) is None
    assert randomness.plan(parse(text % "relu"), None) is None


def test_a_program_that_draws_nothing_is_not_compiled_again():
    fine = run(torch.rand(4, 6))
    tools = FakeTools(fine)
    assert randomness.judge({}, fine, fine, tools) == [] and tools.seeds == []


def made(make, seed):
    return run(*make(seed).values(), drew=True)


def test_compiled_code_is_run_again_only_where_it_looks_wrong():
    fine = made(once, 50)
    for compiled, seeds, found in ((once, [0], []), (rows_repeat, [0, 0, 1, 2], ["repeated"])):
        own = functools.partial(made, compiled)
        tools = FakeTools(fine, reseeded=functools.partial(made, once), own_random=own)
        assert [f.kind for f in randomness.judge({}, fine, fine, tools)] == found
        assert tools.seeds == seeds


def test_what_cannot_be_read_is_left_out():
    def odd(seed):
        return run(once(seed)["r"], once(seed)["r"].to_sparse(), "text", None, drew=True)

    tools = FakeTools(odd(50), reseeded=odd, own_random=lambda seed: run(*odd(seed).results, drew=True))
    assert randomness.judge({}, odd(50), odd(50), tools) == []


def test_an_error_with_numbers_of_its_own():
    fine = made(once, 50)
    for error, found in ((ValueError("no"), ["exception"]), (MemoryError(), [])):
        tools = FakeTools(fine, own_random=lambda seed, e=error: run(error=e))
        assert [f.kind for f in randomness.judge({}, fine, fine, tools)] == found


SOURCE = """import random, torch
def make_inputs():
    return {"x": torch.ones(6, 8)}
def run(wrap, inputs):
    return [inputs["x"] * random.random() + torch.%s((6, 8))]
"""


@pytest.mark.parametrize(("op", "drew"), [("rand", True), ("ones", False)])
def test_a_run_knows_whether_it_drew(op, drew):
    assert run_once(Loaded.of(SOURCE % op, {}), identity).drew is drew


def test_a_seed_is_of_torch_alone():
    first, second = (run_once(Loaded.of(SOURCE % "ones", {}), identity, Variant(seed=seed)) for seed in (1, 2))
    assert torch.equal(first.results[0], second.results[0])
    first, second = (run_once(Loaded.of(SOURCE % "rand", {}), identity, Variant(seed=seed)) for seed in (1, 2))
    assert not torch.equal(first.results[0], second.results[0])
