"""Samplers and checks of native.rules: normalized shapes, sequences of other lengths, weights of recurrent layers."""

from fuzzgraph.grammar.wants import ShapeWant


def layer_norm(draw):
    found = draw.param("input")
    draw.set("normalized_shape", found.shape[-1:])


def pad_sequence(draw):
    rng = draw.rng
    rest = rng.choice(((), (2,), (3,), (1, 4)))
    shapes = [ShapeWant((rng.choice((1, 2, 3, 5, 8)), *rest)) for _ in range(rng.choice((1, 2, 3)))]
    draw.tensors("sequences", shapes)


def check_pad_sequence(env):
    shapes = [t.shape for t in env["sequences"]]
    if not all(shapes):
        return "a sequence has a length"
    return None if all(s[1:] == shapes[0][1:] for s in shapes) else "sequences differ in more than length"


def recurrent(draw):
    layer(draw, 1)


def check_recurrent(env):
    return layer_problem(env, env["hx"], 1)


def gated(draw):
    layer(draw, 3)


def check_gated(env):
    return layer_problem(env, env["hx"], 3)


def layer(draw, count, lists=False):
    rng = draw.rng
    length, batch, inner, hidden = (rng.choice((1, 2, 3, 5)) for _ in range(4))
    draw.tensor("input", shape=(length, batch, inner))
    if lists:
        draw.tensors("hx", [ShapeWant((1, batch, hidden))] * 2)
    else:
        draw.tensor("hx", shape=(1, batch, hidden))
    biases = rng.random() < 0.5
    shapes = [(count * hidden, inner), (count * hidden, hidden)] + [(count * hidden,)] * (2 if biases else 0)
    draw.tensors("params", [ShapeWant(s) for s in shapes])
    draw.set("has_biases", biases)


def layer_problem(env, state, count):
    """Why weights do not fit; `count` is how many gates they are for."""
    found, params = env["input"], env["params"]
    inner, hidden = found.shape[-1], state.shape[-1]
    if 0 in found.shape or not hidden:
        return "an empty sequence"
    want = [(count * hidden, inner), (count * hidden, hidden)]
    want += [(count * hidden,)] * (2 if env["has_biases"] else 0)
    return None if [t.shape for t in params] == want else "weights of other shapes"


def long_short(draw):
    layer(draw, 4, lists=True)


def check_long_short(env):
    return layer_problem(env, env["hx"][0], 4)
