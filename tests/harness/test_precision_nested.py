"""Float64 runs and ulp perturbations of operators that call functions: both once made such programs raise."""

import pytest
import torch

from fuzzgraph.harness.precision import float64_variant, perturbing_variant
from fuzzgraph.harness.program import Loaded, identity, run_once

HEAD = """
import torch
import torch.nn.attention.flex_attention
from torch._higher_order_ops import associative_scan, map, scan, while_loop

def make_inputs():
    return {"x": torch.linspace(0.1, 0.9, 4)}
"""
CALLS = {
    "cond": "torch.cond(x.sum() > 0, lambda x: x.exp(), lambda x: x.sin(), (x,))",
    "while_loop": "while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.exp() / 4), (torch.tensor(0), x))[1]",
    "scan": "scan(lambda c, y: (c + y.exp(), c.exp()), torch.zeros(()), x, dim=0)[1]",
    "associative_scan": "associative_scan(lambda a, b: a * b, x, 0, combine_mode='generic')",
    "map": "map(lambda a, b: a + b.exp(), x, x + 1)",
    "vmap": "torch.vmap(lambda a: a.exp())(x)",
    "grad": "torch.func.grad(lambda a: a.exp().sum())(x)",
    "hessian": "torch.func.hessian(lambda a: a.exp().sum())(x)",
    "jvp": "torch.func.jvp(lambda a: a.exp(), (x,), (x,))[1]",
    "checkpoint": "torch.utils.checkpoint.checkpoint(lambda a: a.exp(), x, use_reentrant=False)",
    "nested_compile_region": "torch.compiler.nested_compile_region(lambda a: a.exp())(x)",
    "flex_attention": "torch.nn.attention.flex_attention.flex_attention("
    "*(x.view(1, 1, 2, 2) for _ in 'qkv'), score_mod=lambda s, b, h, q, k: torch.where(q >= k, s, -1e4).tanh())",
}


@pytest.mark.parametrize("name", CALLS)
def test_operators_that_call_functions(name):
    source = f"{HEAD}\ndef run(wrap, inputs):\n    x = inputs['x']\n    return [{CALLS[name]}]\n"
    loaded = Loaded.of(source, {})
    plain, wide, moved = (
        run_once(loaded, identity, variant) for variant in (None, float64_variant(), perturbing_variant(1))
    )
    assert (plain.error, wide.error, moved.error) == (None, None, None)
    (x,), (w,), (m,) = plain.results, wide.results, moved.results
    assert w.dtype == torch.float64 and torch.allclose(x.double(), w, rtol=1e-5)
    assert torch.allclose(x, m, rtol=1e-5) and not torch.equal(x, m)
