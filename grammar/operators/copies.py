"""Samplers and checks of copies.rules: target shapes, windows, sizes of parts."""

from fuzzgraph.grammar.expressions import broadcast
from fuzzgraph.grammar.sampling import NoValue
from fuzzgraph.grammar.wants import ShapeWant


def expand_copy(draw):
    found = draw.param("input")
    rng = draw.rng
    front = tuple(rng.choice((1, 2, 3)) for _ in range(rng.choice((0, 0, 1))))
    draw.set("size", front + tuple(rng.choice((n, -1, rng.choice((2, 5)) if n == 1 else n)) for n in found.shape))


def check_expand_copy(env):
    shape, size = env["input"].shape, env["size"]
    extra = len(size) - len(shape)
    if extra < 0 or any(n < 0 for n in size[:extra]):
        return "a new dim has a size"
    fits = all(want in (-1, have) or have == 1 for want, have in zip(size[extra:], shape))
    return None if fits else "only dims of size 1 expand"


def view_copy(draw):
    """Dims merge from the front or the back, which strides allow for dense tensors."""
    found = draw.tensor("input", shape=ShapeWant(ranks=(0, 4)))
    if not found.is_contiguous:
        draw.set("size", (*found.shape, 1))
        return
    shape = list(found.shape)
    if len(shape) > 1 and draw.rng.random() < 0.7:
        at = draw.rng.randrange(len(shape) - 1)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    if draw.rng.random() < 0.3 and found.numel and shape:
        shape[draw.rng.randrange(len(shape))] = -1
    elif draw.rng.random() < 0.3:
        shape.insert(0, 1)
    draw.set("size", tuple(shape))


def check_view_copy(env):
    found, size = env["input"], env["size"]
    known = 1
    for n in size:
        known *= n if n != -1 else 1
    holes = size.count(-1)
    if holes > 1 or min(size, default=0) < -1:
        return "at most one -1"
    if not holes and known != found.numel:
        return "another number of elements"
    if holes and (not known or found.numel % known):
        return "the sizes do not divide"
    trimmed = tuple(n for n in size if n != 1)
    plain = tuple(n for n in found.shape if n != 1)
    return None if found.is_contiguous or trimmed == plain else "strides may not allow the view"


def as_strided_copy(draw):
    found = draw.param("input")
    window(draw, found)


def window(draw, found):
    rng = draw.rng
    extent = found.numel
    if not extent:
        raise NoValue
    size, stride, left = [], [], extent - 1
    for _ in range(rng.randint(0, 3)):
        step = rng.choice((1, 1, 2, 3))
        most = min(left // step + 1, 9)
        count = rng.randint(1, most)
        size.append(count)
        stride.append(step)
        left -= (count - 1) * step
    order = list(range(len(size)))
    rng.shuffle(order)
    draw.set("size", tuple(size[i] for i in order))
    draw.set("stride", tuple(stride[i] for i in order))
    if rng.random() < 0.5:
        draw.set("storage_offset", found.offset + rng.randint(0, left))
    else:
        draw.omit("storage_offset")
    return tuple(size[i] for i in order)


def check_as_strided_copy(env):
    found, size, stride = env["input"], env["size"], env["stride"]
    if len(size) != len(stride):
        return "as many strides as sizes"
    if 0 in size:
        return "an empty window"
    start = found.offset if env["storage_offset"] is None else env["storage_offset"]
    if start < found.offset:
        return "the window begins before the tensor"
    end = start + sum((n - 1) * s for n, s in zip(size, stride))
    # Copies are functions of the tensor, not of its storage: the window stays within its own elements.
    if not found.is_contiguous:
        return "a window into a dense tensor"
    return None if end < found.offset + found.numel else "the window leaves the tensor"


def as_strided_scatter(draw):
    found = draw.param("input")
    draw.tensor("src", shape=window(draw, found))


def check_as_strided_scatter(env):
    if env["src"].shape != tuple(env["size"]):
        return "src has another shape than the window"
    # One write a place: each stride passes over all that smaller ones reach.
    reach = 0
    for step, count in sorted(zip(env["stride"], env["size"])):
        if count > 1:
            if step <= reach:
                return "the window overlaps itself"
            reach += step * (count - 1)
    return check_as_strided_copy(env)


def split_with_sizes(draw):
    found = draw.param("input")
    left = found.shape[draw.param("dim")]
    sizes = []
    while left and len(sizes) < 4:
        sizes.append(draw.rng.randint(0, left))
        left -= sizes[-1]
    draw.set("split_sizes", (*sizes, left))


def check_split_with_sizes(env):
    size = env["input"].shape[env["dim"]]
    return None if sum(env["split_sizes"]) == size else "the parts are not the whole"


def sum_to_size(draw):
    found = draw.param("self")
    rng = draw.rng
    shape = found.shape[rng.randrange(len(found.shape) + 1) :] if rng.random() < 0.4 else found.shape
    draw.set("size", tuple(rng.choice((n, n, 1)) for n in shape))


def check_sum_to_size(env):
    try:
        fits = broadcast(env["size"], env["self"].shape) == env["self"].shape
    except ValueError:
        fits = False
    return None if fits else "the size does not broadcast to the tensor"


def constant_pad(draw):
    found = draw.param("input")
    rng = draw.rng
    low = -1 if rng.random() < 0.3 else 0
    draw.set("pad", tuple(rng.randint(low, 3) for _ in range(2 * rng.randint(1, min(found.rank, 3)))))


def check_constant_pad(env):
    found, amounts = env["input"], env["pad"]
    if len(amounts) % 2 or len(amounts) // 2 > found.rank:
        return "pad has two amounts a dim"
    pairs = zip(reversed(found.shape), amounts[::2], amounts[1::2])
    fits = all(n + a + b >= 0 and n + min(a, 0) + min(b, 0) >= 0 for n, a, b in pairs)
    return None if fits else "a dim becomes negative"
