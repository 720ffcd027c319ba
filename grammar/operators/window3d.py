"""Samplers and checks of window3d.rules: arithmetic of windows over three dims, of random and of inverse pools."""


def spread(value, count):
    """One value per spatial dim."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


def spatial(rule):
    """How many dims the window slides over: in the operator's name."""
    return int(rule.op[-2])


def per_dim(rng, count, low, high):
    """A value for all dims, or one a dim."""
    if rng.random() < 0.6:
        return rng.randint(low, high)
    return tuple(rng.randint(low, high) for _ in range(count))


def agree(count, *values):
    """Whether tuples among the values have one item per spatial dim."""
    return all(not isinstance(v, tuple) or len(v) == count for v in values)


def batch_of(rng):
    return (rng.choice((1, 2)),) if rng.random() < 0.8 else ()


# ---- convolutions


def conv(draw):
    rng = draw.rng
    transposed = "output_padding" in draw.rule.param
    groups, inner, outer = rng.choice((1, 1, 2)), rng.choice((1, 2, 3)), rng.choice((1, 2))
    kernel = tuple(rng.choice((1, 2, 3)) for _ in range(3))
    stride, padding, dilation = per_dim(rng, 3, 1, 2), per_dim(rng, 3, 0, 1), per_dim(rng, 3, 1, 2)
    sizes = tuple(d * (k - 1) + 1 + rng.choice((0, 1, 3)) for d, k in zip(spread(dilation, 3), kernel))
    draw.tensor("input", shape=(*batch_of(rng), inner * groups, *sizes))
    first, second = (inner * groups, outer) if transposed else (outer * groups, inner)
    draw.tensor("weight", shape=(first, second, *kernel))
    if rng.random() < 0.5:
        draw.tensor("bias", shape=(outer * groups,))
    else:
        draw.omit("bias")
    draw.set("stride", stride)
    same = not transposed and stride in (1, (1, 1, 1)) and rng.random() < 0.2
    draw.set("padding", "same" if same else padding)
    if transposed:
        limits = [max(s, d) for s, d in zip(spread(stride, 3), spread(dilation, 3))]
        draw.set("output_padding", tuple(rng.randrange(n) for n in limits))
    draw.set("groups", groups)
    draw.set("dilation", dilation)


conv_transpose = conv


def check_conv(env):
    return conv_problem(env, transposed=False)


def check_conv_transpose(env):
    return conv_problem(env, transposed=True)


def conv_problem(env, transposed):
    found, weight, groups = env["input"], env["weight"], env["groups"]
    if not agree(3, env["stride"], env["padding"], env["dilation"], env.get("output_padding", 0)):
        return "another number of spatial dims"
    if 0 in weight.shape or 0 in found.shape:
        return "an empty convolution"
    first, second = weight.shape[:2]
    inner, outer = (first, second * groups) if transposed else (second * groups, first)
    if found.shape[-4] != inner or inner % groups or outer % groups:
        return "channels, groups and weight do not agree"
    if env["bias"] is not None and env["bias"].shape != (outer,):
        return "bias has another size than the output channels"
    return reach_problem(env, found.shape[-3:], weight.shape[2:], transposed)


def reach_problem(env, sizes, kernel, transposed):
    stride, dilation = spread(env["stride"], 3), spread(env["dilation"], 3)
    padding = env["padding"]
    if isinstance(padding, str):
        if padding == "same" and max(stride) > 1:
            return "padding='same' needs stride 1"
        padding = tuple((d * (k - 1) + 1) // 2 if padding == "same" else 0 for d, k in zip(dilation, kernel))
    padding = spread(padding, 3)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    if not transposed:
        fits = all(n + 2 * p >= r for n, p, r in zip(sizes, padding, reach))
        return None if fits else "the kernel is larger than the input"
    extra = spread(env["output_padding"], 3)
    if any(not 0 <= e < max(s, d) for e, s, d in zip(extra, stride, dilation)):
        return "output_padding is smaller than stride or dilation"
    out = [(n - 1) * s - 2 * p + r + e for n, s, p, r, e in zip(sizes, stride, padding, reach, extra)]
    return None if min(out) > 0 else "the output is empty"


# ---- pools


def pool(draw):
    rng = draw.rng
    kernel = per_dim(rng, 3, 1, 3)
    sizes = tuple(k + rng.choice((0, 1, 2, 4)) for k in spread(kernel, 3))
    draw.tensor("input", shape=(*batch_of(rng), rng.choice((1, 2, 3)), *sizes))
    draw.set("kernel_size", kernel)
    if rng.random() < 0.5:
        draw.set("stride", per_dim(rng, 3, 1, 3))
    else:
        draw.omit("stride")
    if "padding" in draw.rule.param and rng.random() < 0.5:
        draw.set("padding", tuple(rng.randint(0, k // 2) for k in spread(kernel, 3)))


def check_pool(env):
    values = [env["kernel_size"], env["stride"], env.get("padding", 0), env.get("dilation", 1)]
    if not agree(3, *values):
        return "another number of spatial dims"
    kernel, padding, dilation = spread(values[0], 3), spread(values[2], 3), spread(values[3], 3)
    stride = kernel if values[1] is None else spread(values[1], 3)
    if any(2 * p > k for p, k in zip(padding, kernel)):
        return "padding is at most half the kernel"
    if 0 in env["input"].shape:
        return "an empty pool"
    sizes = env["input"].shape[-3:]
    spans = [n + 2 * p - d * (k - 1) - 1 for n, k, p, d in zip(sizes, kernel, padding, dilation)]
    return None if min(spans) >= 0 and min(stride) > 0 else "the kernel is larger than the input"


def adaptive(draw):
    rng = draw.rng
    sizes = tuple(rng.choice((1, 3, 5, 8)) for _ in range(3))
    draw.tensor("input", shape=(*batch_of(rng), rng.choice((1, 2, 3)), *sizes))
    draw.set("output_size", per_dim(rng, 3, 1, 5))


def check_adaptive(env):
    return None if min(spread(env["output_size"], 1)) > 0 and 0 not in env["input"].shape else "an empty pool"


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
