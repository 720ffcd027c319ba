"""Sampler and check of linalg.rules: a chain of matrices."""

import itertools

from fuzzgraph.grammar.wants import ShapeWant


def multi_dot(draw):
    rng = draw.rng
    sizes = [rng.choice((1, 2, 3, 5, 8, 17)) for _ in range(rng.randint(2, 4) + 1)]
    shapes = [ShapeWant(pair) for pair in itertools.pairwise(sizes)]
    draw.tensors("tensors", shapes)


def check_multi_dot(env):
    shapes = [t.shape for t in env["tensors"]]
    if any(len(s) != 2 or 0 in s for s in shapes):
        return "matrices that are not empty"
    return None if all(a[1] == b[0] for a, b in itertools.pairwise(shapes)) else "the inner sizes differ"
