"""Sampler and check of joining.rules: tensors that agree in all dims but one."""

from fuzzgraph.grammar.model import TensorSpec
from fuzzgraph.grammar.wants import ShapeWant


def cat(draw):
    rng = draw.rng
    spec = draw.rule.param["tensors"].specs[0]
    assert isinstance(spec, TensorSpec)
    rank = rng.choice((1, 1, 2, 2, 3, 4))
    dim = rng.randrange(rank)
    sizes = ShapeWant(ranks=(rank, rank)).draw(rng)
    free = ShapeWant(tuple(None if d == dim else n for d, n in enumerate(sizes)))
    draw.tensors("tensors", spec, [free] * rng.choice((1, 2, 2, 2, 3, 4)))
    draw.set("dim", dim - rank if rng.random() < 0.3 else dim)


def check_cat(env):
    dim = env["dim"]
    first, *others = [t.shape for t in env["tensors"]]
    for shape in others:
        if len(shape) != len(first):
            return "tensors of other ranks"
        if any(a != b for d, (a, b) in enumerate(zip(first, shape)) if d != dim % len(first)):
            return "tensors differ in another dim"
    return None
