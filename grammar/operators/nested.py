"""Samplers of nested.rules: the functions that operators call, and the operands that these take."""

import math

from fuzzgraph.grammar.dtypes import CLASSES
from fuzzgraph.grammar.model import Frame
from fuzzgraph.grammar.wants import ShapeWant, ValueDomain, Want
from fuzzgraph.ir.types import DTYPES, contiguous_strides, tensor

# Turns of a loop.
TURNS = 4
# Numbers of queries and keys, and widths of heads: within a block of the compiler's kernel, and past one.
ATTENTION_SIZES = (1, 3, 8, 16, 17, 33)


def plain(inside, kind):
    """A tensor of a type that nobody has a better one of."""
    value = True if kind.info.kind == "bool" else 1
    return inside.call("full", (kind.shape, value), {"dtype": kind.torch_dtype}, kind)


def bare(kind):
    """A tensor's type as a function sees it: it neither owns the storage nor knows of the gradient outside."""
    return kind.with_(alias=None, requires_grad=False)


def dense(kind):
    return tensor(kind.dtype, kind.shape)


def without_dim(kind, dim):
    """The type of a slice along a dim."""
    dim %= kind.rank
    return tensor(kind.dtype, kind.shape[:dim] + kind.shape[dim + 1 :])


def optional(draw, name, share=0.4):
    """A further operand, or none; a list of its type or an empty one."""
    if draw.rng.random() >= share:
        draw.omit(name)
        return []
    return [draw.tensor(name)]


def bundle(inside, params, results):
    """What people write: one result bare, more as a tuple."""
    return results[0] if len(results) == 1 else tuple(results)


def cond(draw):
    operands = draw.tensors("operands")
    draw.param("pred")
    results = tuple(dense(t) for t in draw.rng.choices(operands, k=draw.rng.choice((1, 1, 2))))
    frame = Frame(tuple(map(bare, operands)), plain, results, bundle)
    draw.function("true_fn", frame)
    draw.function("false_fn", frame)


def while_loop(draw):
    counter = draw.operand(Want(frozenset({"i64"}), ShapeWant(()), ValueDomain("index", TURNS)))
    others = Want(CLASSES["any"], accept=lambda t: None if packed(t) else "not contiguous")
    carried = [counter, *(draw.operand(others) for _ in range(draw.rng.choice((1, 1, 2))))]
    draw.give("carried_inputs", tuple(o for o, _ in carried), tuple(t for _, t in carried))
    params = tuple(bare(t) for _, t in carried)
    count = tensor("i64", ())

    def goes_on(inside, params, results):
        return inside.call("lt", (params[0], TURNS), {}, tensor("bool", ()))

    def turn(inside, params, results):
        return (inside.call("add", (params[0], 1), {}, count), *results)

    draw.function("cond_fn", Frame(params, plain, (), goes_on))
    draw.function("body_fn", Frame(params, plain, tuple(dense(t) for t in params[1:]), turn))


def packed(kind):
    """Whether strides are those of a new tensor, also in dims of size 1: a turn must give what it got."""
    return kind.stride == contiguous_strides(kind.shape)


def apart(*operands):
    """A reason where operands share storage, which operators that trace their functions refuse."""
    roots = [t.alias for t in operands if t.alias is not None]
    return None if len(set(roots)) == len(roots) else "operands share storage"


def check_cond(env):
    return apart(*env["operands"])


def check_scan(env):
    return apart(env["init"], env["xs"]) if packed(env["init"]) else "init must be contiguous"


def check_each(env):
    return apart(env["xs"], env["x"])


def check_while_loop(env):
    carried = env["carried_inputs"]
    if (carried[0].dtype, carried[0].shape) != ("i64", ()):
        return "the first tensor counts the turns, a 0-d i64"
    return apart(*carried) if all(map(packed, carried)) else "carried tensors must be contiguous"


def domains_while_loop(env):
    return {"carried_inputs": [ValueDomain("index", TURNS)] + [None] * (len(env["carried_inputs"]) - 1)}


def scan(draw):
    init, xs = draw.tensor("init"), draw.tensor("xs")
    draw.set("dim", 0)
    results = (dense(init), dense(draw.rng.choice((init, without_dim(xs, 0)))))
    draw.function("combine_fn", Frame((bare(init), without_dim(xs, 0)), plain, results))


def associative_scan(draw):
    xs = draw.tensor("xs")
    long = [d for d in range(-xs.rank, xs.rank) if xs.shape[d] > 1]
    dim = draw.rng.choice(long)
    draw.set("dim", dim)
    draw.set("combine_mode", "generic")
    both = without_dim(xs, dim)
    ordered = DTYPES[xs.dtype].kind != "complex"
    op = draw.rng.choice(("add", "mul", "maximum", "minimum") if ordered else ("add", "mul"))

    def combine(inside, params, results):
        return inside.call(op, tuple(params), {}, both)

    draw.function("combine_fn", Frame((both, both), plain, (), combine))


def each(draw):
    xs, x = draw.tensor("xs"), draw.tensor("x")
    draw.function("f", Frame((without_dim(xs, 0), bare(x)), plain, (without_dim(xs, 0),), bundle))


def vmap(draw):
    rng = draw.rng
    x = draw.tensor("x")
    dim = rng.randrange(-x.rank, x.rank)
    given, dims = [without_dim(x, dim)], [dim]
    if rng.random() < 0.5:
        y = draw.tensor("y")
        ours = [d for d in range(y.rank) if y.shape[d] == x.shape[dim]]
        dims.append(rng.choice(ours) if ours and rng.random() < 0.7 else None)
        given.append(bare(y) if dims[1] is None else without_dim(y, dims[1]))
    else:
        draw.omit("y")
    if dims != [0] * len(dims) or rng.random() < 0.5:
        draw.set("in_dims", tuple(dims) if len(dims) > 1 or rng.random() < 0.5 else dims[0])
    results = None
    if rng.random() < 0.3:
        # Other places than the first need a result whose rank is known.
        results = (given[0],)
        draw.set("out_dims", rng.randint(0, given[0].rank))
    draw.function("func", Frame(tuple(given), plain, results, bundle))


def gradient(draw):
    x = draw.tensor("x")
    y = optional(draw, "y")

    def total(inside, params, results):
        return inside.call("sum", (results[0],), {}, tensor(x.dtype, ()))

    draw.function("func", Frame((bare(x), *map(bare, y)), plain, (dense(x),), total))


def jacobian(draw):
    x = draw.tensor("x")
    draw.function("func", Frame((bare(x),), plain, (dense(x),), bundle))


def jvp(draw):
    primals = draw.tensors("primals")
    draw.tensors("tangents", [ShapeWant(t.shape) for t in primals])
    for name in ("primals", "tangents"):
        draw.operands[name] = tuple(draw.operands[name])
    result = (dense(draw.rng.choice(primals)),)
    draw.function("func", Frame(tuple(map(bare, primals)), plain, result, bundle))


def check_jvp(env):
    shapes = [[t.shape for t in env[name]] for name in ("primals", "tangents")]
    return None if shapes[0] == shapes[1] else "tangents have other shapes than primals"


# What people do to scores of attention: a bias by distance, a causal mask, a window, a soft cap, a slope for each head.
SCORE_STEPS = ("bias", "mask", "window", "cap", "slope", "parity")


def score_steps(inside, steps, params, rng):
    """The score after some steps. Operands are the score, batch, head, row and column, all of them 0-d."""
    value, _, head, row, column = params

    def whole(op, *args):
        return inside.call(op, args, {}, tensor("i64", ()))

    def flag(op, *args):
        return inside.call(op, args, {}, tensor("bool", ()))

    def number(op, *args):
        return inside.call(op, args, {}, tensor("f32", ()))

    for step in steps:
        if step == "bias":
            value = number("add", value, whole("sub", row, column))
        elif step == "mask":  # each row sees the first column at least
            value = number("where", flag("ge", row, column), value, rng.choice((-math.inf, -1e4)))
        elif step == "window":
            value = number("where", flag("lt", whole("abs", whole("sub", row, column)), 3), value, -1e4)
        elif step == "cap":
            cap = rng.choice((2.0, 16.0))
            value = number("mul", number("tanh", number("mul", value, 1 / cap)), cap)
        elif step == "slope":
            value = number("mul", value, whole("add", head, 1))
        else:
            value = number("where", flag("eq", whole("remainder", column, 2), 0), value, number("neg", value))
    return value


def flex_attention(draw):
    rng = draw.rng
    batch, heads, queries, keys, width = (rng.choice(sizes) for sizes in ((1, 2), (1, 2, 4), *(ATTENTION_SIZES,) * 3))
    grouped = heads > 1 and rng.random() < 0.3
    ours = 1 if grouped else heads
    draw.tensor("query", shape=(batch, heads, queries, width))
    draw.tensor("key", shape=(batch, ours, keys, width))
    draw.tensor("value", shape=(batch, ours, keys, rng.choice((width, width, 8))))
    steps = rng.choices(SCORE_STEPS, k=rng.choice((1, 1, 2, 3)))
    frame = Frame(
        (tensor("f32", ()), *(tensor("i64", ()),) * 4), plain, (),
        lambda inside, params, results: score_steps(inside, steps, params, rng),
    )  # fmt: skip
    draw.function("score_mod", frame)
    draw.param("scale")
    if grouped or rng.random() < 0.1:
        draw.set("enable_gqa", True)
    else:
        draw.omit("enable_gqa")


def check_flex_attention(env):
    if any(t.requires_grad for t in env.values() if hasattr(t, "requires_grad")):
        return "has no backward on the CPU"
    return None


def plain_call(draw):
    x = draw.tensor("x")
    given = [x, *optional(draw, "y")]
    name = draw.rule.params[0].name
    if "use_reentrant" in draw.rule.param:
        draw.set("use_reentrant", False)
    draw.function(name, Frame(tuple(map(bare, given)), plain, None, bundle))


