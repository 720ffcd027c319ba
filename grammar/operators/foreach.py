"""Sampler and check of foreach.rules: lists of tensors that agree in number and shapes."""

from fuzzgraph.grammar.wants import ShapeWant, draw_size


def pairs(draw):
    rng = draw.rng
    shapes = [
        ShapeWant(tuple(draw_size(rng) for _ in range(rng.randint(0, 3)))) for _ in range(rng.choice((1, 2, 2, 3)))
    ]
    for name, param in draw.rule.param.items():
        lists = [s for s in param.specs if getattr(s, "count", None) is not None]
        if lists and (len(param.specs) == 1 or rng.random() < 0.6):
            draw.tensors(name, shapes)
        elif lists:
            draw._draw_attribute(name, next(s for s in param.specs if s is not lists[0]))


def check_pairs(env):
    lists = [v for v in env.values() if isinstance(v, tuple) and v and hasattr(v[0], "dtype")]
    shapes = [[t.shape for t in tensors] for tensors in lists]
    return None if all(s == shapes[0] for s in shapes) else "lists of other lengths or shapes"


copies = pairs


def check_copies(env):
    if any(t.requires_grad for tensors in env.values() if isinstance(tensors, tuple) for t in tensors):
        return "torch has no derivative for it"
    return check_pairs(env)
