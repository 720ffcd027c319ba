"""Arithmetic of windows that slide: convolutions, pooling, padding, resizing. Samplers and checks of window.rules."""

from fuzzgraph.grammar.sampling import NoValue
from fuzzgraph.grammar.wants import ShapeWant


def spread(value, count):
    """One value per spatial dim."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


def lengths_agree(count, *values):
    """Whether tuples among the values have one item per spatial dim (or one for all)."""
    return all(not isinstance(v, tuple) or len(v) in (1, count) for v in values)


def per_dim(rng, count, low, high, options=None):
    """A value for all dims, or one a dim."""
    pick = (lambda: rng.choice(options)) if options else (lambda: rng.randint(low, high))
    return pick() if rng.random() < 0.6 else tuple(pick() for _ in range(count))


def batch_of(rng):
    """The dim before the channels, or none."""
    return (rng.choice((1, 2)),) if rng.random() < 0.8 else ()


def maybe(draw, name, value):
    """Give an optional parameter this value, at times."""
    if draw.rng.random() < 0.5:
        draw.set(name, value)
        return value
    draw.omit(name)
    return draw.env[name]


# ---- convolutions


def conv(draw):
    rng = draw.rng
    count = spatial(draw.rule)
    groups = rng.choice((1, 1, 1, 2, 3))
    inner, outer = rng.choice((1, 2, 3)), rng.choice((1, 2, 4))
    transposed = "output_padding" in draw.rule.param
    kernel = tuple(rng.choice((1, 1, 2, 3, 5) if count < 3 else (1, 2, 3)) for _ in range(count))
    stride = per_dim(rng, count, 1, 3)
    padding = per_dim(rng, count, 0, 2)
    dilation = per_dim(rng, count, 1, 2)
    need = [d * (k - 1) + 1 for d, k in zip(spread(dilation, count), kernel)]
    sizes = tuple(max(n, 1) + rng.choice((0, 1, 2, 5, 12) if count < 3 else (0, 1, 3)) for n in need)
    batch = (rng.choice((1, 2, 3)),) if rng.random() < 0.85 else ()
    draw.tensor("input", shape=(*batch, inner * groups, *sizes))
    first, second = (inner * groups, outer) if transposed else (outer * groups, inner)
    draw.tensor("weight", shape=(first, second, *kernel))
    if rng.random() < 0.5:
        draw.tensor("bias", shape=(outer * groups,))
    else:
        draw.omit("bias")
    draw.set("stride", stride)
    draw.set("padding", "same" if not transposed and stride in (1, (1,) * count) and rng.random() < 0.2 else padding)
    if transposed:
        limits = [max(s, d) for s, d in zip(spread(stride, count), spread(dilation, count))]
        draw.set("output_padding", tuple(rng.randrange(n) for n in limits))
    draw.set("groups", groups)
    draw.set("dilation", dilation)


def spatial(rule):
    """How many dims the window slides over: in the operator's name."""
    return int(rule.op[-2])


def check_conv(env):
    return conv_problem(env, transposed=False)


def conv_transpose(draw):
    conv(draw)


def check_conv_transpose(env):
    return conv_problem(env, transposed=True)


def conv_problem(env, transposed):
    found, weight, groups = env["input"], env["weight"], env["groups"]
    count = weight.rank - 2
    if found.rank not in (count + 1, count + 2):
        return "input has another rank than weight"
    if not lengths_agree(count, env["stride"], env["padding"], env["dilation"], env.get("output_padding", 0)):
        return "another number of spatial dims"
    if 0 in weight.shape or 0 in found.shape:
        return "an empty convolution"
    channels = found.shape[-count - 1]
    inner, outer = (
        (weight.shape[0], weight.shape[1] * groups) if transposed else (weight.shape[1] * groups, weight.shape[0])
    )
    if channels != inner or channels % groups or outer % groups:
        return "channels, groups and weight do not agree"
    if env["bias"] is not None and env["bias"].shape != (outer,):
        return "bias has another size than the output channels"
    return reach_problem(env, found.shape[-count:], weight.shape[2:], transposed)


def reach_problem(env, sizes, kernel, transposed):
    count = len(kernel)
    stride, dilation = spread(env["stride"], count), spread(env["dilation"], count)
    if min(stride) < 1 or min(dilation) < 1:
        return "stride and dilation are positive"
    if isinstance(env["padding"], str):
        if env["padding"] == "same" and max(stride) > 1:
            return "padding='same' needs stride 1"
        padding = (0,) * count if env["padding"] == "valid" else tuple(d * (k - 1) for d, k in zip(dilation, kernel))
        padding = tuple((p + 1) // 2 for p in padding)
    else:
        padding = spread(env["padding"], count)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    if transposed:
        extra = spread(env["output_padding"], count)
        if any(not 0 <= e < max(s, d) for e, s, d in zip(extra, stride, dilation)):
            return "output_padding is smaller than stride or dilation"
        out = [(n - 1) * s - 2 * p + r + e for n, s, p, r, e in zip(sizes, stride, padding, reach, extra)]
        return None if min(out) > 0 else "the output is empty"
    return (
        None if all(n + 2 * p >= r for n, p, r in zip(sizes, padding, reach)) else "the kernel is larger than the input"
    )


# ---- pools


def pool(draw):
    rng = draw.rng
    count = spatial(draw.rule)
    kernel = per_dim(rng, count, 1, 3)
    sizes = tuple(k + rng.choice((0, 1, 2, 5, 14) if count < 3 else (0, 1, 2, 4)) for k in spread(kernel, count))
    draw.tensor("input", shape=(*batch_of(rng), rng.choice((1, 2, 3)), *sizes))
    draw.set("kernel_size", kernel)
    half = [k // 2 for k in spread(kernel, count)]
    if "stride" in draw.rule.param:
        maybe(draw, "stride", per_dim(rng, count, 1, 3))
    if "padding" in draw.rule.param:
        maybe(
            draw, "padding", tuple(rng.randint(0, h) for h in half) if rng.random() < 0.5 else rng.randint(0, min(half))
        )


def check_pool(env):
    found, kernel = env["input"], env["kernel_size"]
    count = env["spatial"] if "spatial" in env else found.rank - 2
    return pool_problem(
        found,
        kernel,
        env.get("stride"),
        env.get("padding", 0),
        env.get("dilation", 1),
        env.get("ceil_mode", False),
        count,
    )


def pool_problem(found, kernel, stride, padding, dilation, ceil_mode, count):
    if not lengths_agree(count, kernel, stride, padding, dilation):
        return "another number of spatial dims"
    kernel, padding, dilation = spread(kernel, count), spread(padding, count), spread(dilation, count)
    stride = kernel if stride is None or stride == () else spread(stride, count)
    if min(kernel) < 1 or min(stride) < 1 or min(dilation) < 1 or min(padding) < 0:
        return "kernel, stride and dilation are positive"
    if any(2 * p > k for p, k in zip(padding, kernel)):
        return "padding is at most half the kernel"
    if 0 in found.shape:
        return "an empty pool"
    for n, k, s, p, d in zip(found.shape[-count:], kernel, stride, padding, dilation):
        span = n + 2 * p - d * (k - 1) - 1
        if span < 0 and not (ceil_mode and span + s > 0):
            return "the kernel is larger than the input"
        if span < 0:
            return "the kernel reaches beyond the padded input"
    return None


def pool1(env):
    return dict(env, spatial=1)


def max_pool1d(draw):
    pool(draw)


def check_max_pool1d(env):
    return check_pool(pool1(env))


def max_pool2d(draw):
    pool(draw)


def check_max_pool2d(env):
    return check_pool(dict(env, spatial=2))


def max_pool3d(draw):
    pool(draw)


def check_max_pool3d(env):
    return check_pool(dict(env, spatial=3))


def adaptive(draw):
    rng = draw.rng
    count = spatial(draw.rule)
    lengths = (1, 3, 5, 8, 17) if count < 3 else (1, 3, 5, 8)
    shape = (*batch_of(rng), rng.choice((1, 2, 3)), *(rng.choice(lengths) for _ in range(count)))
    draw.tensor("input", shape=ShapeWant(shape))
    draw.set("output_size", per_dim(rng, count, 1, 6))


def check_adaptive(env):
    size = env["output_size"]
    return None if min(spread(size, 1)) > 0 and 0 not in env["input"].shape else "an empty pool"


def fractional(draw):
    rng, count = draw.rng, spatial(draw.rule)
    kernel, output = rng.randint(1, 3), rng.randint(1, 4)
    sizes = tuple(output + kernel - 1 + (count == 3) + rng.choice((0, 1, 4)) for _ in range(count))
    draw.tensor("input", shape=(*batch_of(rng), rng.choice((1, 2)), *sizes))
    draw.set("kernel_size", kernel)
    draw.set("output_size", output)


fractional2d = fractional3d = fractional


def check_fractional2d(env):
    return fractional_problem(env, 2)


def check_fractional3d(env):
    return fractional_problem(env, 3)


def fractional_problem(env, count):
    if 0 in env["input"].shape:
        return "an empty pool"
    # The pool over three dims needs one element more.
    reach = env["output_size"] + env["kernel_size"] - 1 + (count == 3)
    return None if min(env["input"].shape[-count:]) >= reach else "the kernels are larger than the input"


# ---- padding


def pad(draw):
    rng = draw.rng
    mode = draw.param("mode")
    if mode == "constant":
        found = draw.tensor("input", shape=ShapeWant(ranks=(1, 4)))
        count = rng.randint(1, min(found.rank, 3))
        low = -1 if rng.random() < 0.3 else 0
        amounts = [rng.randint(low, 3) for _ in range(2 * count)]
        draw.set("pad", tuple(amounts))
        return
    draw.omit("value")
    count = rng.choice((1, 2, 2, 3))
    sizes = tuple(rng.choice((2, 3, 5, 8, 17) if count < 3 else (2, 3, 5)) for _ in range(count))
    found = draw.tensor(
        "input",
        shape=(*(rng.choice((1, 2, 3)) for _ in range(rng.choice((1, 2)) if mode != "circular" else 2)), *sizes),
    )
    amounts = []
    for size in reversed(sizes):
        limit = min(size - 1 if mode == "reflect" else size, 3)
        amounts += [rng.randint(0, limit), rng.randint(0, limit)]
    draw.set("pad", tuple(amounts))


def check_pad(env):
    found, amounts, mode = env["input"], env["pad"], env["mode"]
    if len(amounts) % 2 or len(amounts) // 2 > found.rank:
        return "pad has two amounts a dim"
    count = len(amounts) // 2
    pairs = list(zip(reversed(found.shape), amounts[::2], amounts[1::2]))
    if mode == "constant":
        return (
            None
            if all(n + a + b >= 0 and n + min(a, 0) + min(b, 0) >= 0 for n, a, b in pairs)
            else "a dim becomes negative"
        )
    if env["value"] is not None:
        return "only mode constant takes a value"
    if count not in (1, 2, 3) or found.rank not in ((count + 2,) if mode == "circular" else (count + 1, count + 2)):
        return f"mode {mode} pads the last dims of a batch"
    if 0 in found.shape or min(amounts, default=0) < 0:
        return "an empty tensor, or a negative amount"
    limit = 1 if mode == "reflect" else 0
    if mode != "replicate" and any(max(a, b) > n - limit for n, a, b in pairs):
        return "an amount is larger than its dim"
    return None


# ---- resizing


def interpolate(draw):
    rng = draw.rng
    mode = draw.param("mode")
    count = {
        "nearest": rng.choice((1, 2, 2, 3)),
        "nearest-exact": rng.choice((1, 2, 2, 3)),
        "area": rng.choice((1, 2, 2, 3)),
        "linear": 1,
        "trilinear": 3,
    }.get(mode, 2)
    sizes = tuple(rng.choice((1, 2, 3, 5, 8)) for _ in range(count))
    draw.tensor("input", shape=(rng.choice((1, 2)), rng.choice((1, 2, 3)), *sizes))
    if rng.random() < 0.5:
        draw.set("size", tuple(rng.choice((1, 2, 3, 7, 16)) for _ in range(count)))
        draw.omit("scale_factor")
    else:
        draw.omit("size")
        draw.set("scale_factor", rng.choice((2.0, 1.5, 1.0, 3.0)))
    if mode not in ("linear", "bilinear", "bicubic", "trilinear"):
        draw.omit("align_corners")


def check_interpolate(env):
    found, mode, size, scale = env["input"], env["mode"], env["size"], env["scale_factor"]
    count = found.rank - 2
    allowed = {"linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,)}.get(mode, (1, 2, 3))
    if count not in allowed:
        return f"mode {mode} resizes other dims"
    if (size is None) == (scale is None):
        return "either size or scale_factor"
    if env["align_corners"] is not None and mode not in ("linear", "bilinear", "bicubic", "trilinear"):
        return "align_corners is for linear modes"
    if 0 in found.shape:
        return "an empty tensor"
    if size is not None:
        return None if len(size) == count and min(size) > 0 else "one positive size a dim"
    return (
        None
        if isinstance(scale, (int, float)) and all(int(n * scale) > 0 for n in found.shape[2:])
        else "the output is empty"
    )


def unfold(draw):
    rng = draw.rng
    kernel = per_dim(rng, 2, 1, 3)
    sizes = tuple(k + rng.choice((0, 1, 4)) for k in spread(kernel, 2))
    draw.tensor("input", shape=(rng.choice((1, 2)), rng.choice((1, 2, 3)), *sizes))
    draw.set("kernel_size", kernel)


def check_unfold(env):
    found = env["input"]
    if 0 in found.shape:
        return "an empty tensor"
    values = [spread(env[n], 2) for n in ("kernel_size", "dilation", "padding", "stride")]
    if not lengths_agree(2, *(env[n] for n in ("kernel_size", "dilation", "padding", "stride"))):
        return "another number of spatial dims"
    out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(found.shape[2:], *values)]
    return None if min(out) > 0 else "the kernel is larger than the input"


def grid_sample(draw):
    rng = draw.rng
    batch = rng.choice((1, 2))
    draw.tensor("input", shape=(batch, rng.choice((1, 2)), rng.choice((1, 3, 5)), rng.choice((1, 4))))
    draw.tensor("grid", shape=(batch, rng.choice((1, 2, 3)), rng.choice((1, 4)), 2))


__all__ = ["NoValue"]


# ---- the way back


def fold(draw):
    rng = draw.rng
    kernel, stride, dilation, padding = per_dim(rng, 2, 1, 3), per_dim(rng, 2, 1, 2), rng.randint(1, 2), 0
    output = tuple(dilation * (k - 1) + 1 + rng.choice((0, 1, 3)) for k in spread(kernel, 2))
    if rng.random() < 0.4:
        padding = 1
    count = 1
    for n in blocks(output, kernel, dilation, padding, stride):
        count *= n
    rows = rng.choice((1, 2)) * spread(kernel, 2)[0] * spread(kernel, 2)[1]
    draw.tensor("input", shape=(*batch_of(rng), rows, count))
    for name, value in (("output_size", output), ("kernel_size", kernel), ("dilation", dilation)):
        draw.set(name, value)
    draw.set("padding", padding)
    draw.set("stride", stride)


def blocks(output, kernel, dilation, padding, stride):
    values = zip(output, *(spread(v, 2) for v in (kernel, dilation, padding, stride)))
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in values]


def check_fold(env):
    found = env["input"]
    kernel = spread(env["kernel_size"], 2)
    if 0 in found.shape or found.shape[-2] % (kernel[0] * kernel[1]):
        return "rows are channels by window"
    counts = blocks(env["output_size"], kernel, env["dilation"], env["padding"], env["stride"])
    fits = min(counts) > 0 and counts[0] * counts[1] == found.shape[-1]
    return None if fits else "another number of windows"


def affine_grid(draw):
    size = draw.param("size")
    draw.tensor("theta", shape=(size[0], 2, 3))
