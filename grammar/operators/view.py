"""Samplers and checks of view.rules: target shapes, bitcasts, strided windows."""

from fuzzgraph.grammar.sampling import NoValue
from fuzzgraph.grammar.wants import ShapeWant, draw_size
from fuzzgraph.ir.types import DTYPES, contiguous_strides


def factors(numel, rng, low=0, high=5):
    """A random shape with that many elements."""
    if numel == 0:
        return tuple(rng.choice((0, 1, 2, 3)) for _ in range(rng.randint(0, 2))) + (0,)
    sizes = []
    left = numel
    while left > 1 and len(sizes) < high - 1:
        divisors = [d for d in range(2, min(left, 64) + 1) if left % d == 0]
        if not divisors or rng.random() < 0.25:
            break
        step = rng.choice(divisors)
        sizes.append(step)
        left //= step
    if left > 1 or not sizes:
        sizes.append(left)
    while len(sizes) < high and rng.random() < 0.25:
        sizes.insert(rng.randrange(len(sizes) + 1), 1)
    rng.shuffle(sizes)
    return () if numel == 1 and rng.random() < 0.2 else tuple(sizes)


def resolved(shape, numel):
    """A target shape with -1 filled in, or None where it does not fit."""
    known = 1
    for size in shape:
        if size < -1:
            return None
        known *= size if size != -1 else 1
    holes = sum(1 for size in shape if size == -1)
    if holes == 0:
        return tuple(shape) if known == numel else None
    if holes > 1 or known == 0 or numel % known:
        return None
    return tuple(numel // known if size == -1 else size for size in shape)


def view_strides(shape, stride, target):
    """Strides of a view of that shape, as torch computes them, or None where only a copy has that shape."""
    if 0 in shape:
        return tuple(stride) if tuple(shape) == tuple(target) else contiguous_strides(tuple(target))
    view = [0] * len(target)
    at = len(target) - 1
    tensor_numel = view_numel = 1
    base = stride[-1] if stride else 1
    for dim in range(len(shape) - 1, -1, -1):
        tensor_numel *= shape[dim]
        if dim == 0 or (shape[dim - 1] != 1 and stride[dim - 1] != tensor_numel * base):
            while at >= 0 and (view_numel < tensor_numel or target[at] == 1):
                view[at] = view_numel * base
                view_numel *= target[at]
                at -= 1
            if view_numel != tensor_numel:
                return None
            if dim > 0:
                base = stride[dim - 1]
                tensor_numel = view_numel = 1
    if not shape:
        return (1,) * len(target)
    return tuple(view) if at == -1 else None


def hole(shape, rng):
    """The shape, at times with one size left to torch."""
    if shape and 0 not in shape and rng.random() < 0.3:
        at = rng.randrange(len(shape))
        return (*shape[:at], -1, *shape[at + 1 :])
    return shape


def reshape(draw):
    found = draw.param("input")
    draw.set("shape", hole(factors(found.numel, draw.rng), draw.rng))


def check_reshape(env):
    return (
        None if resolved(env["shape"], env["input"].numel) is not None else "the shape has another number of elements"
    )


def view(draw):
    found = draw.param("self")
    if draw.rng.random() < 0.4:
        draw.set("size", torch_dtype(draw.rng.choice([d for d in DTYPES if bitcast_problem(found, d) is None])))
        return
    for _ in range(6):
        target = factors(found.numel, draw.rng)
        if view_strides(found.shape, found.stride, target) is not None:
            break
    else:
        target = found.shape
    draw.set("size", hole(target, draw.rng))


def torch_dtype(name):
    return DTYPES[name].torch_dtype


def check_view(env):
    found, size = env["self"], env["size"]
    if isinstance(size, str):
        return bitcast_problem(found, size)
    target = resolved(size, found.numel)
    if target is None:
        return "the size has another number of elements"
    return None if view_strides(found.shape, found.stride, target) is not None else "the strides allow no such view"


def bitcast_problem(found, dtype):
    """Why a tensor cannot be viewed as another dtype. Bits that are no bool mean nothing defined."""
    if dtype == "bool" and found.dtype != "bool":
        return "arbitrary bits are no bool"
    old, new = element_bytes(found.dtype), element_bytes(dtype)
    if old == new:
        return None
    if found.rank == 0:
        return "rank 0 cannot change its element size"
    if found.stride[-1] != 1:
        return "the last dim is not contiguous"
    if old < new:
        ratio = new // old
        if found.shape[-1] % ratio or found.offset % ratio or any(s % ratio for s in found.stride[:-1]):
            return "sizes, strides or offset are no multiple of the new element size"
    return None


def element_bytes(dtype):
    return torch_dtype(dtype).itemsize


def expand(draw):
    found = draw.param("self")
    rng = draw.rng
    sizes = [rng.choice((1, 2, 3, 5)) if n == 1 and rng.random() < 0.7 else n for n in found.shape]
    sizes = [-1 if rng.random() < 0.2 else n for n in sizes]
    front = [rng.choice((1, 2, 3, 0)) for _ in range(rng.choice((0, 0, 1, 2)))]
    draw.set("size", (*front, *sizes))


def check_expand(env):
    return expand_problem(env["self"].shape, env["size"], holes=True)


def expand_problem(shape, size, holes):
    extra = len(size) - len(shape)
    if extra < 0 or any(n < 0 for n in size[:extra]):
        return "too few sizes"
    for old, new in zip(shape, size[extra:]):
        if not (new == old or (old == 1 and new >= 0) or (holes and new == -1)):
            return f"size {old} does not expand to {new}"
    return None


def broadcast_to(draw):
    found = draw.param("input")
    rng = draw.rng
    sizes = [rng.choice((1, 2, 3, 5)) if n == 1 and rng.random() < 0.7 else n for n in found.shape]
    draw.set("size", (*(rng.choice((1, 2, 3)) for _ in range(rng.choice((0, 0, 1)))), *sizes))


def check_broadcast_to(env):
    return expand_problem(env["input"].shape, env["size"], holes=False)


def meshgrid(draw):
    draw.param("indexing")
    least = 2 if draw.env["indexing"] == "xy" else 1
    ranks = [int(draw.rng.random() < 0.9) for _ in range(draw.rng.randint(least, 3))]
    draw.tensors("tensors", [ShapeWant(tuple(draw_size(draw.rng) for _ in range(rank))) for rank in ranks])


def check_meshgrid(env):
    if env["indexing"] == "xy" and len(env["tensors"]) < 2:
        return "xy swaps the first two of several"
    return None if all(t.rank < 2 for t in env["tensors"]) else "takes vectors and 0-d tensors"


def unflatten(draw):
    found = draw.param("input")
    dim = draw.param("dim")
    draw.set("sizes", hole(factors(found.shape[dim], draw.rng, high=3) or (1,), draw.rng))


def check_unflatten(env):
    sizes, found = env["sizes"], env["input"]
    if resolved(sizes, found.shape[env["dim"]]) is None or not sizes:
        return "the sizes do not multiply to the dim's size"
    return None


def movedim(draw):
    found = draw.param("input")
    count = draw.rng.randint(min(found.rank, 1), found.rank)
    for name in ("source", "destination"):
        dims = tuple(draw.rng.sample(range(found.rank), count))
        draw.set(name, tuple(d - found.rank if draw.rng.random() < 0.2 else d for d in dims))


def as_strided(draw):
    found = draw.param("input")
    rng = draw.rng
    room = found.extent - found.offset if found.numel else 0
    for _ in range(10):
        size = tuple(rng.choice((1, 2, 2, 3, 4)) for _ in range(rng.randint(0, 3)))
        stride = tuple(rng.choice((0, 1, 1, 2, 3, 4)) for _ in size)
        need = 1 + sum((n - 1) * s for n, s in zip(size, stride))
        if need <= room:
            break
    else:
        if not room:
            raise NoValue
        size, stride, need = (), (), 1
    draw.set("size", size)
    draw.set("stride", stride)
    if rng.random() < 0.5:
        draw.set("storage_offset", rng.randint(0, found.extent - need))


def check_as_strided(env):
    size, stride, found = env["size"], env["stride"], env["input"]
    offset = found.offset if env["storage_offset"] is None else env["storage_offset"]
    if len(size) != len(stride):
        return "as many strides as sizes"
    if 0 in size:
        return None
    need = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride))
    return None if need <= found.extent else "the window reaches beyond the operand's memory"


def repeat(draw):
    found = draw.param("self")
    rng = draw.rng
    count = found.rank + rng.choice((0, 0, 1))
    draw.set("repeats", tuple(rng.choice((1, 1, 2, 3, 0 if rng.random() < 0.2 else 1)) for _ in range(count)))


def split(draw):
    found = draw.param("tensor")
    dim = draw.param("dim")
    size = found.shape[dim]
    rng = draw.rng
    if rng.random() < 0.5:
        draw.set("split_size_or_sections", rng.randint(1, size + 1))
        return
    parts = []
    while sum(parts) < size:
        parts.append(rng.randint(0 if rng.random() < 0.1 else 1, size - sum(parts)))
    draw.set("split_size_or_sections", parts or [0])


def check_split(env):
    sizes, size = env["split_size_or_sections"], env["tensor"].shape[env["dim"]]
    if isinstance(sizes, tuple):
        return None if sum(sizes) == size and min(sizes, default=0) >= 0 and sizes else "the parts do not add up"
    return None if sizes > 0 or (sizes == 0 and size == 0) else "parts need a size"
