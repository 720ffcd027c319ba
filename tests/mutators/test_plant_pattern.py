"""Plant a pattern: what fires and what, broken, does not, in the compiler itself."""

from random import Random

import pytest

from fuzzgraph.execution.jobs import job_options
from fuzzgraph.generate import Generator
from fuzzgraph.grammar.patterns import PatternBook, read_patterns
from fuzzgraph.ir.builder import Rejected
from fuzzgraph.ir.text import parse
from fuzzgraph.mutators import Tools
from fuzzgraph.mutators._edit import Edit
from fuzzgraph.mutators.plant_pattern import BREAKS, PlantPattern, break_by_user, choose, plant_in
from fuzzgraph.render import render
from tests.generate.test_plant import DATA
from tests.generate.worlds import MetaInference, program, tiny_book

BOOK = tiny_book()
INFER = MetaInference(BOOK)
PLAIN = "input z: f32[4]\ndef f(z) {\n a = neg(z)\n return a\n}\ncall f(z)"


def tiny_tools(data=(DATA,)):
    return Tools(BOOK, INFER, Generator(BOOK, INFER), lambda rng: program(PLAIN, BOOK), PatternBook(lambda: list(data)))


def test_planted_in_a_program_that_keeps_its_own():
    made = [PlantPattern().mutate(program(PLAIN, BOOK), Random(seed), tiny_tools()) for seed in range(12)]
    found = [m for m in made if m is not None]
    assert len(found) > 8
    for m in found:
        ops = [n.meta["op"] for n in m.functions[0].body]
        assert {"neg", "mul", "relu", "add"} <= set(ops)
    assert any(len(m.functions[0].body) > 4 for m in found)  # some are broken by a cast or a view


def test_without_patterns_it_declines():
    assert PlantPattern().mutate(program(PLAIN, BOOK), Random(0), tiny_tools(())) is None
    with pytest.raises(Rejected, match="no pattern has rules"):
        choose((), tiny_tools(), Random(0))


@pytest.mark.parametrize("by", BREAKS)
def test_each_break_changes_one_step(by):
    (pattern,) = read_patterns([DATA])
    changed = 0
    for seed in range(12):
        edit = Edit(program(PLAIN, BOOK), tiny_tools())
        f = edit.function(Random(seed))
        planted = plant_in(edit, f, pattern, Random(seed))
        before = str(f.graph), str(f.result)
        try:
            by(edit, f, planted, Random(seed))
        except Rejected:
            continue
        assert (str(f.graph), str(f.result)) != before
        changed += 1
    assert changed > 0


# --- in the compiler

# A sum with a product of matrices, which becomes one call unless the product has another user.
FUSED = ["aten.mm", "aten.add"]


@pytest.fixture(scope="module")
def fires(tmp_path_factory):
    """A function: the operators of the patterns that fire while a program is compiled, up to the C++ compiler."""
    import torch._functorch.config
    import torch._inductor.config

    from fuzzgraph.harness import hooks, targets
    from fuzzgraph.harness.firing import fired

    found, target = hooks.probe(), targets.load("inductor")

    def run(made):
        return [calls(p) for p in fired(render(made).source, job_options(made.options), target, found)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        patch.setattr(torch._inductor.config, "fx_graph_cache", False)
        patch.setattr(torch._functorch.config, "enable_autograd_cache", False)
        yield run


def calls(pattern):
    return [node["ops"][0] for node in pattern["nodes"] if "ops" in node]


@pytest.mark.compiles
def test_a_planted_pattern_fires_and_a_broken_one_does_not(fires, tools):
    data = [p for p in tools.infer.patterns() if calls(p) == FUSED and p["where"].startswith("post_grad.")]
    (pattern, *_) = read_patterns(data)
    base = parse(f"fuzzgraph 1\n{PLAIN}", tools.infer, tools.book.check)
    both = 0
    for seed in range(6):
        whole = planted(base, pattern, tools, seed, lambda *rest: None)
        if FUSED in fires(whole):
            assert FUSED not in fires(planted(base, pattern, tools, seed, break_by_user))
            both += 1
        if both == 2:
            return
    raise AssertionError("it never fires")


def planted(base, pattern, tools, seed, by):
    edit, rng = Edit(base, tools), Random(seed)
    f = edit.function(rng)
    by(edit, f, plant_in(edit, f, pattern, rng), rng)
    return edit.finish(rng)


@pytest.mark.compiles
def test_a_pass_that_is_off_is_switched_on(fires, tools):
    """unbind(stack([x, ...])) is what goes in, if Inductor is told to look for it."""
    data = [p for p in tools.infer.patterns() if p["where"] == "unbind_stack_pass"]
    (pattern, *_) = read_patterns(data)
    assert dict(pattern.needs) == {
        f"inductor.pre_grad_fusion_options.{name}": True for name in ("normalization_pass", "unbind_stack_pass")
    }
    made = planted(parse(f"fuzzgraph 1\n{PLAIN}", tools.infer, tools.book.check), pattern, tools, 0, lambda *rest: None)
    assert calls(data[0]) in fires(made)
    assert calls(data[0]) not in fires(made.with_options(config=()))


@pytest.mark.compiles
def test_a_fusion_of_groups_fires(fires, tools):
    data = [p for p in tools.infer.patterns() if p["name"] == "batch_aten_tanh"]
    (pattern,) = read_patterns(data)
    base = parse(f"fuzzgraph 1\n{PLAIN}", tools.infer, tools.book.check)
    made = [planted(base, pattern, tools, seed, lambda *rest: None) for seed in range(12)]
    assert any(calls(data[0]) in fires(program) for program in made)


def test_what_takes_no_gradients_is_not_planted_under_them():
    (pattern,) = read_patterns([{**DATA, "needs": {"inductor.freezing": True}}])
    edit = Edit(program(PLAIN, BOOK), tiny_tools())
    edit.b.set_options(grad=True)
    with pytest.raises(Rejected, match="no gradients"):
        plant_in(edit, edit.function(Random(0)), pattern, Random(0))
