"""One execution of a rendered source, without a compiler."""

import pytest
import torch

from fuzzgraph.harness.program import Loaded, OptionError, identity, patched, run_once, sentinel


def load(text, **options):
    return Loaded.of("import torch\n" + text, options)


SIMPLE = (
    "def make_inputs():\n    return {'x': torch.linspace(0, 1, 4).requires_grad_(), 'n': torch.arange(3)}\n"
    "def run(wrap, inputs):\n    return [wrap(lambda x: (x * 2, x.sum()))(inputs['x'])]\n"
)


def test_results_inputs_and_gradients():
    run = run_once(load(SIMPLE, grad=True), identity)
    assert run.error is None and list(run.inputs) == ["x", "n"] and list(run.gradients) == ["x"]
    weights = sentinel(torch.ones(4), 0), sentinel(torch.tensor(1.0), 1)
    assert torch.equal(run.gradients["x"], weights[0] * 2 + weights[1])


def test_weights_are_exact_in_every_dtype():
    wide = sentinel(torch.ones(64, dtype=torch.float64), 3)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        assert torch.equal(sentinel(torch.ones(64, dtype=dtype), 3).double(), wide)
    assert len(set(wide.tolist())) > 4


def test_backward_covers_conjugate_views():
    source = (
        "def make_inputs():\n    return {'z': torch.ones(3, dtype=torch.complex64).requires_grad_()}\n"
        "def run(wrap, inputs):\n    return [wrap(torch.conj)(inputs['z'])]\n"
    )
    run = run_once(load(source, grad=True), identity)
    assert run.error is None and run.gradients["z"].is_complex()


def test_backward_covers_complex_results_and_leaves_integers():
    text = (
        "def make_inputs():\n    return {'z': torch.ones(3, dtype=torch.complex64).requires_grad_()}\n"
        "def run(wrap, inputs):\n    return [(inputs['z'] * 2j, torch.ones(2)), inputs['z'].abs()]\n"
    )
    run = run_once(load(text, grad=True), identity)
    assert run.error is None and run.gradients["z"].is_complex()


def test_each_run_starts_from_equal_random_states():
    text = (
        "import random\ndef make_inputs():\n    return {'x': torch.rand(3)}\n"
        "def run(wrap, inputs):\n    return [inputs['x'] + torch.rand(3), random.random()]\n"
    )
    a, b = run_once(load(text), identity), run_once(load(text), identity)
    assert torch.equal(a.results[0], b.results[0]) and a.results[1] == b.results[1]


def test_each_run_has_a_namespace_of_its_own():
    text = (
        "log = []\ndef make_inputs():\n    return {}\n"
        "def run(wrap, inputs):\n    log.append(1)\n    return [len(log)]\ndef get_states():\n    return {'log': log}\n"
    )
    loaded = load(text)
    assert [run_once(loaded, identity).states for _ in range(2)] == [{"log": [1]}] * 2


@pytest.mark.parametrize("raised", ["ValueError('v')", "KeyboardInterrupt", "GeneratorExit", "StopIteration"])
def test_what_a_program_raises_is_recorded(raised):
    text = f"def make_inputs():\n    return {{}}\ndef run(wrap, inputs):\n    raise {raised}\n"
    assert type(run_once(load(text), identity).error).__name__ == raised.split("(")[0]


def test_exit_passes():
    with pytest.raises(SystemExit):
        run_once(load("def make_inputs():\n    raise SystemExit(3)\n"), identity)


def test_tracebacks_show_the_source():
    import traceback

    text = "def make_inputs():\n    return {}\ndef run(wrap, inputs):\n    return [1 / 0]\n"
    error = run_once(load(text), identity).error
    assert "return [1 / 0]" in "".join(traceback.format_exception(error))


def test_modes_hold():
    text = (
        "def make_inputs():\n    return {'x': torch.ones(2, 2)}\n"
        "def run(wrap, inputs):\n    return [inputs['x'] @ inputs['x']]\n"
    )
    assert run_once(load(text, autocast="bf16"), identity).results[0].dtype == torch.bfloat16
    assert run_once(load(text, autocast="bfloat16"), identity).results[0].dtype == torch.bfloat16
    assert run_once(load(text, inference=True), identity).results[0].is_inference()


def test_config_patches():
    import torch._dynamo.config as dynamo
    import torch._inductor.config as inductor

    before = inductor.cpp.simdlen, dynamo.specialize_float, inductor.fallback_random
    with patched({"inductor.cpp.simdlen": 1, "dynamo.specialize_float": True}):
        assert (inductor.cpp.simdlen, dynamo.specialize_float, inductor.fallback_random) == (1, True, True)
    assert before == (inductor.cpp.simdlen, dynamo.specialize_float, inductor.fallback_random)
    for unknown in ("inductor.nonesuch", "nonesuch.a", "x"):
        with pytest.raises(OptionError, match=unknown), patched({unknown: 1}):
            pass


def test_config_patches_that_name_passes():
    import torch._inductor.config as inductor

    setting = "inductor.pre_grad_fusion_options"
    with patched({f"{setting}.split_cat_pass": True, f"{setting}.batch_relu.min_fuse_set_size": 2}):
        assert inductor.pre_grad_fusion_options == {"split_cat_pass": {}, "batch_relu": {"min_fuse_set_size": 2}}
    assert inductor.pre_grad_fusion_options == {}
    with pytest.raises(OptionError, match="no pass nonesuch"), patched({f"{setting}.nonesuch": True}):
        pass


@pytest.mark.compiles
def test_operators_that_compile_find_the_module_of_their_own_program():
    """Dynamo kept the module of the first program that such an operator was in, also for later ones."""
    text = (
        "{more}\n"
        "def step(x):\n    return x * {size}\n"
        "def make_inputs():\n    return {{'x': torch.ones(2, 3)}}\n"
        "def run(wrap, inputs):\n    return [torch._higher_order_ops.map(step, inputs['x'])]\n"
    )
    first = run_once(load(text.format(more="import math", size="math.floor(3)")), identity)
    torch._dynamo.reset()
    second = run_once(load(text.format(more="import operator", size="operator.floordiv(x.size(0), 1)")), identity)
    assert (first.error, second.error) == (None, None)
