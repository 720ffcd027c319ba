"""Samplers and checks of joining.rules: tensors that agree in all dims but one."""

from fuzzgraph.grammar.wants import ShapeWant


def joinable(draw, rank, dim):
    """Draw a list of tensors of one rank that differ at most in `dim`."""
    rng = draw.rng
    sizes = ShapeWant(ranks=(rank, rank)).draw(rng)
    free = ShapeWant(tuple(None if d == dim else n for d, n in enumerate(sizes)))
    draw.tensors("tensors", [free] * rng.choice((1, 2, 2, 2, 3, 4)))


def differing(shapes, dim):
    """Why shapes cannot be joined along a dim, or None."""
    first, *others = shapes
    for shape in others:
        if len(shape) != len(first):
            return "tensors of other ranks"
        if any(a != b for d, (a, b) in enumerate(zip(first, shape)) if d != dim % len(first)):
            return "tensors differ in another dim"
    return None


def cat(draw):
    rng = draw.rng
    rank = rng.choice((1, 1, 2, 2, 3, 4))
    dim = rng.randrange(rank)
    joinable(draw, rank, dim)
    draw.set("dim", dim - rank if rng.random() < 0.3 else dim)


def check_cat(env):
    shapes = [t.shape for t in env["tensors"]]
    if not all(shapes):
        return "a tensor of rank 0"
    # torch lets an empty vector stand beside tensors of any rank; where all are such, dim must fit them.
    rest = [s for s in shapes if s != (0,)] or shapes
    return differing(rest, env["dim"]) if -len(rest[0]) <= env["dim"] < len(rest[0]) else "dim is out of range"


def hstack(draw):
    rank = draw.rng.choice((0, 1, 2, 3))
    joinable(draw, rank, 0 if rank == 1 else 1)


def check_hstack(env):
    shapes = [t.shape or (1,) for t in env["tensors"]]
    return differing(shapes, 0 if len(shapes[0]) == 1 else 1)


def vstack(draw):
    rank = draw.rng.choice((0, 1, 2, 3))
    joinable(draw, rank, -1 if rank < 2 else 0)


def check_vstack(env):
    return differing([(1, *(t.shape or (1,))) if t.rank < 2 else t.shape for t in env["tensors"]], 0)


def dstack(draw):
    rank = draw.rng.choice((0, 1, 2, 3))
    joinable(draw, rank, 2)


def check_dstack(env):
    shapes = [(1, *(t.shape or (1,))) if t.rank < 2 else t.shape for t in env["tensors"]]
    return differing([(*s, 1) if len(s) == 2 else s for s in shapes], 2)


def column_stack(draw):
    rank = draw.rng.choice((0, 1, 2))
    joinable(draw, rank, 1)


def check_column_stack(env):
    return differing([(*(t.shape or (1,)), 1) if t.rank < 2 else t.shape for t in env["tensors"]], 1)
