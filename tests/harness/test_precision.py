"""Float64 runs and ulp perturbations of the reference."""

import math
from textwrap import dedent

import pytest
import torch

from fuzzgraph.harness.precision import Nudge, float64_variant, jitter, perturbing_variant
from fuzzgraph.harness.program import Loaded, identity, run_once


def load(make, body, top="", **options):
    text = f"import torch\n{dedent(top)}\ndef make_inputs():\n    {make}\n\ndef f(x):\n    {body}\n"
    return Loaded.of(text + "\ndef run(wrap, inputs):\n    return [wrap(f)(inputs['x'])]\n", options)


def wide(make, body, **more):
    run = run_once(load(make, body, **more), identity, float64_variant())
    if run.error is not None:
        raise run.error
    return run


X = "return {'x': torch.linspace(0, 1, 6)}"


@pytest.mark.parametrize(
    "body",
    [
        "return x.sin()", "return x + torch.ones(6)", "return x.to(torch.float32)", "return x.float()",
        "return x.half() + x.bfloat16()", "return torch.full((6,), 1.5, dtype=torch.float16)",
        "return x.type_as(x.half())", "return x.type(torch.float32)", "return x + torch.tensor(1.5)",
        "return torch.zeros_like(x, dtype=torch.float32)",
        "return x.to('cpu', torch.float32)", "return x.sum(dtype=torch.float32)",
    ],
)  # fmt: skip
def test_every_float_becomes_float64(body):
    assert wide(X, body).results[0].dtype == torch.float64


def test_a_closure_whose_variable_is_not_bound_yet():
    top = """
        def make():
            def g(x): return x + late
            h = g
            if False: late = 1
            return h
        g = make()
    """
    assert wide(X, "return x + 1", top=top).results[0].dtype == torch.float64


def test_complex_and_integers():
    for dtype, expected in (("complex64", torch.complex128), ("int32", torch.int32)):
        run = wide(f"return {{'x': torch.ones(3, dtype=torch.{dtype})}}", "return x * 2")
        assert run.results[0].dtype == expected


def test_the_default_dtype_is_put_back():
    wide(X, "return x")
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize(
    "make",
    [
        "return {'x': torch.arange(20.).as_strided((3, 4), (1, 5), 2)}",
        "return {'x': torch.arange(4.).expand(3, 4)}",
        "return {'x': torch.arange(9.).as_strided((3, 4), (2, 1), 1)}",
        "return {'x': torch.empty(0, 3)}",
        "return {'x': torch.tensor(3.)}",
    ],
)
def test_layouts_stay(make):
    space = {"torch": torch}
    exec("def make():\n    " + make, space)
    plain = space["make"]()["x"]
    cast = wide(make, "return x").inputs["x"]
    assert (cast.shape, cast.stride(), cast.storage_offset()) == (plain.shape, plain.stride(), plain.storage_offset())
    assert torch.equal(cast, plain.double())


def test_inputs_that_share_storage_go_on_sharing():
    run = wide("a = torch.zeros(6); return {'x': a[2:], 'y': a[:3]}", "x.add_(1); return x")
    assert run.inputs["y"].tolist() == [0.0, 0.0, 1.0]


def test_gradients_are_float64_too():
    run = wide("return {'x': torch.linspace(0, 1, 6).requires_grad_()}", "return x.sin()", grad=True)
    assert run.gradients["x"].dtype == torch.float64


def test_constants_states_and_closures_are_cast():
    top = """
    c = None
    def make_f(k):
        def g(x):
            return x * k
        return g
    """
    make = "global c, g; c = torch.ones(6); g = make_f(torch.full((6,), 2.0)); return {'x': torch.ones(6)}"
    assert wide(make, "return g(x) + c", top=top).results[0].dtype == torch.float64


@pytest.mark.parametrize("body", ["return x.view(torch.int32)", "return x.view(dtype=torch.int32)"])
def test_reading_bits_is_refused(body):
    with pytest.raises(Exception, match="reinterprets bits"):
        wide(X, body)
    assert torch.get_default_dtype() == torch.float32


def test_an_ulp_moves_ordinary_values_only():
    special = torch.tensor([0.0, -0.0, 1.0, -3.0, math.inf, -math.inf, math.nan])
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        kept, moved = special.to(dtype), torch.tensor([0.3, -1.7, 1e-4], dtype=dtype)
        before = moved.clone()
        jitter(kept, Nudge(0))
        jitter(moved, Nudge(0))
        assert torch.equal(kept.nan_to_num(7), special.to(dtype).nan_to_num(7)), dtype
        assert torch.signbit(kept[1])
        assert bool((moved != before).all())
        assert torch.allclose(moved.double(), before.double(), rtol=3 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_of_half_precision_only_what_sums_to_infinity_moves(dtype):
    """A bfloat16 has float32's range: the mean of its edge values once was a finding, infinite in one order only."""
    make = f"return {{'x': torch.tensor([0.3, -1.7, torch.finfo(torch.{dtype}).max], dtype=torch.{dtype})}}"
    x = run_once(load(make, "return x.clone()"), identity, perturbing_variant("up")).inputs["x"]
    assert (x == torch.tensor([0.3, -1.7, math.inf if dtype == "bfloat16" else 65504.0], dtype=x.dtype)).all()


def test_integers_and_overlapping_memory_stay():
    for tensor in (torch.arange(4), torch.tensor(0.3).expand(3), torch.ones(0)):
        before = tensor.clone()
        jitter(tensor, Nudge(0))
        assert torch.equal(tensor, before)


def test_whole_numbers_that_come_of_rounding_are_moved():
    """tanh(20) is 1 in float32, or the number before it: whatever is made of the difference is noise."""
    moved = load("return {'x': torch.full((64,), 20.0)}", "return x.tanh().frac(), x.clone().tanh_().frac(), x.floor()")
    plain, again = run_once(moved, identity), run_once(moved, identity, perturbing_variant("down"))
    assert not plain.results[0][0].any() and again.results[0][0].any()
    assert not plain.results[0][1].any() and again.results[0][1].any()
    assert torch.equal(plain.results[0][2], again.results[0][2])


def test_all_elements_may_move_one_way():
    plain = torch.tensor([0.3, -1.7, 1e-4])
    for how, sign in (("up", 1), ("down", -1)):
        moved = plain.clone()
        jitter(moved, Nudge(how))
        assert torch.equal(torch.sign(moved - plain), torch.full((3,), float(sign)))


def test_zeros_without_memory_stay():
    jitter(torch._efficientzerotensor((3,)), Nudge(0))


def test_perturbation_reaches_results_and_is_repeatable():
    loaded = load("return {'x': torch.ones(1000)}", "y = x / 3; return y - 1 / 3, (x / 3 * 1e8).floor()")
    runs = [run_once(loaded, identity, perturbing_variant(seed)).results[0] for seed in (1, 1, 2)]
    plain = run_once(loaded, identity).results[0]
    assert not torch.equal(runs[0][0], plain[0]) and not torch.equal(runs[0][1], plain[1])
    assert torch.equal(runs[0][0], runs[1][0]) and not torch.equal(runs[0][0], runs[2][0])


def test_perturbation_leaves_mutation_and_backward_working():
    make = "return {'x': torch.linspace(0, 1, 6).requires_grad_()}"
    loaded = load(make, "y = x * 3; y.add_(1); return y.sin()", grad=True)
    run = run_once(loaded, identity, perturbing_variant(1))
    assert run.error is None and run.gradients["x"].shape == (6,)


@pytest.mark.parametrize(
    "drawn",
    [
        "torch.rand(6)", "torch.randn(2, requires_grad=True)", "torch.rand_like(x)", "torch.randn(6, dtype=torch.half)",
        "torch.empty(3, 2).t().uniform_(-1, 1)", "torch.zeros(5).normal_()", "torch.nn.Linear(3, 2).weight",
        "torch.randn(4, dtype=torch.complex64)", "torch.rand(3, dtype=torch.float64)",
    ],
)  # fmt: skip
def test_random_numbers_are_those_of_the_plain_run(drawn):
    loaded = load(X, f"torch.manual_seed(1); return {drawn}, torch.rand(2)")
    plain, better = run_once(loaded, identity), run_once(loaded, identity, float64_variant())
    assert plain.error is None and better.error is None
    for a, b in zip(plain.results[0], better.results[0]):
        assert b.dtype in (torch.float64, torch.complex128) and torch.equal(a.to(b.dtype), b)
        assert a.requires_grad == b.requires_grad and a.is_leaf == b.is_leaf


@pytest.mark.parametrize(
    ("dtype", "least", "most"), [("uint8", 1e-8, 1e-6), ("float32", 1e-8, 1e-6), ("float64", 1e-17, 1e-15)]
)
def test_what_is_written_to_a_wider_out_moves_by_an_ulp_of_what_it_was_computed_in(dtype, least, most):
    make = f"return {{'x': torch.ones(4, dtype=torch.{dtype})}}"
    loaded = load(make, "return torch.atan(x, out=torch.empty(4, dtype=torch.float64))")
    plain, moved = (run_once(loaded, identity, v).results[0] for v in (None, perturbing_variant("down")))
    assert moved.dtype == torch.float64 and least < float((plain - moved).abs().max()) < most
