"""Samplers, checks and value domains of indexing.rules: subscripts, and the shapes of index operands."""

from fuzzgraph.grammar.expressions import broadcast
from fuzzgraph.grammar.sampling import NoValue
from fuzzgraph.grammar.wants import ShapeWant, ValueDomain, Want
from fuzzgraph.ir.types import TensorType

INDEX = frozenset({"i32", "i64"})


class IndexDraw:
    """A subscript of `found` under construction: items as operands and as types, the next dim to index."""

    def __init__(self, draw, found, masks):
        self.draw, self.found, self.masks = draw, found, masks
        self.items, self.types = [], []
        self.dim = 0
        # The shape of the index tensors so far; one mask stands alone.
        self.advanced = None

    def add(self, item, kind=None, dims=1):
        self.items.append(item)
        self.types.append(item if kind is None else kind)
        self.dim += dims

    def tensor(self, size):
        shape = ShapeWant(ranks=(1, 2)) if self.advanced is None else ShapeWant(self.advanced)
        operand, kind = self.draw.operand(Want(INDEX, shape, ValueDomain("index", size)))
        self.advanced = kind.shape
        self.add(operand, kind)

    def mask(self, size):
        operand, kind = self.draw.operand(Want(frozenset({"bool"}), ShapeWant((size,))))
        self.add(operand, kind)
        self.dim = self.found.rank

    def step(self):
        """One more item."""
        rng, size = self.draw.rng, self.found.shape[self.dim]
        roll = rng.random()
        if roll < 0.08:
            self.add(None, dims=0)
        elif roll < 0.15:
            self.add(Ellipsis, dims=self.found.rank)
        elif roll < 0.3 and size:
            self.add(rng.randrange(-size, size))
        elif roll < 0.75:
            self.add(draw_slice(size, rng))
        elif roll < 0.92 and size:
            self.tensor(size)
        elif self.masks and self.advanced is None:
            self.mask(size)
        else:
            self.add(slice(None))


def draw_index(draw, found, masks):
    """Items of a subscript of `found`: as operands and as types."""
    index = IndexDraw(draw, found, masks)
    while index.dim < found.rank:
        index.step()
        if draw.rng.random() < 0.2:
            break
    return tuple(index.items), tuple(index.types)


def draw_slice(size, rng):
    def bound():
        return None if rng.random() < 0.35 else rng.randint(-size - 1, size + 1)

    return slice(bound(), bound(), rng.choice((None, None, 1, 2, 3)))


def getitem(draw):
    found = draw.param("self")
    items, types = draw_index(draw, found, masks=False)
    if not items:
        raise NoValue
    draw.give("index", items, types)


def consumed(index):
    """How many dims the items of a subscript index."""
    return sum(item.rank if is_mask(item) else 1 for item in index if item is not None and item is not Ellipsis)


def positions(shape, index):
    """(item, dim that it indexes) for each item of a subscript but None and the ellipsis."""
    dim = 0
    for item in index:
        if item is Ellipsis:
            dim += len(shape) - consumed(index)
        elif item is not None:
            yield item, dim
            dim += item.rank if is_mask(item) else 1


def item_problem(item, dim, shape, masks, scalars):
    """Why one item cannot index a dim, or None."""
    if isinstance(item, slice):
        return None if sliced(shape[dim], item) is not None else "a step must be positive"
    if isinstance(item, bool) or not isinstance(item, (int, TensorType)):
        return f"{item!r} is no index"
    if isinstance(item, int):
        fits = -shape[dim] <= item < shape[dim]
        return None if fits else f"index {item} is out of range for size {shape[dim]}"
    if is_mask(item):
        if not masks:
            return "a mask makes the shape depend on data"
        fits = item.rank and shape[dim : dim + item.rank] == item.shape
        return None if fits else "a mask has another shape than what it indexes"
    if item.dtype not in INDEX or (item.rank == 0 and not scalars):
        return "index tensors are i32 or i64, of rank 1 or more"
    return "nothing to index in an empty dim" if shape[dim] == 0 and item.numel else None


def index_shape(shape, index, masks, scalars=False):
    """(shape of the indexed tensor, None) or (None, why not); the shape is ("mask",) where it depends on a mask."""
    if consumed(index) > len(shape) or sum(item is Ellipsis for item in index) > 1:
        return None, "more indices than dims, or more than one ellipsis"
    for item, dim in positions(shape, index):
        if (reason := item_problem(item, dim, shape, masks, scalars)) is not None:
            return None, reason
    tensors = [item for item in index if isinstance(item, TensorType)]
    if any(map(is_mask, tensors)):
        return (("mask",), None) if len(tensors) == 1 else (None, "a mask beside other index tensors")
    try:
        return placed(shape, index, broadcast(*tensors)), None
    except ValueError:
        return None, "index tensors do not broadcast"


def placed(shape, index, front):
    """Shape of the result. The index tensors' shape stands at their place where they are adjacent, else in front."""
    dims = []
    dim = 0
    for item in index:
        if item is Ellipsis:
            skip = len(shape) - consumed(index)
            dims += shape[dim : dim + skip]
            dim += skip
        elif item is None:
            dims.append(1)
        else:
            if isinstance(item, slice):
                dims.append(sliced(shape[dim], item))
            elif isinstance(item, TensorType):
                dims.append(None)
            dim += 1
    dims += shape[dim:]
    at = [i for i, size in enumerate(dims) if size is None]
    sizes = [size for size in dims if size is not None]
    if not at:
        return tuple(sizes)
    start = at[0] if at[-1] - at[0] == len(at) - 1 else 0
    return (*sizes[:start], *front, *sizes[start:])


def sliced(size, item):
    """Size of a slice, or None where torch refuses it."""
    parts = (item.start, item.stop, item.step)
    if any(p is not None and (isinstance(p, bool) or not isinstance(p, int)) for p in parts):
        return None
    return None if item.step is not None and item.step < 1 else len(range(*item.indices(size)))


def is_mask(item):
    return isinstance(item, TensorType) and item.dtype == "bool"


def check_getitem(env):
    index = env["index"] if isinstance(env["index"], tuple) else (env["index"],)
    return index_shape(env["self"].shape, index, masks=False)[1]


def domains_getitem(env):
    """Index tensors stay below the size of the dim that they index."""
    index = env["index"] if isinstance(env["index"], tuple) else (env["index"],)
    shape = env["self"].shape
    tensors = [(item, dim) for item, dim in positions(shape, index) if isinstance(item, TensorType)]
    return {"index": [None if is_mask(item) else ValueDomain("index", shape[dim]) for item, dim in tensors]}


def setitem(draw):
    found = draw.param("self")
    items, types = draw_index(draw, found, masks=True)
    if not items:
        raise NoValue
    draw.give("index", items, types)
    shape, reason = index_shape(found.shape, types, masks=True)
    if reason is not None:
        raise NoValue
    if shape == ("mask",) or draw.rng.random() < 0.4:
        spec = next(s for s in draw.rule.param["value"].specs if getattr(s, "kind", None) == "number")
        draw._draw_attribute("value", spec)
    else:
        draw.tensor("value", shape=ShapeWant((), (0, 5), (), broadcast=shape, into=True))


def check_setitem(env):
    index = env["index"] if isinstance(env["index"], tuple) else (env["index"],)
    found, value = env["self"], env["value"]
    shape, reason = index_shape(found.shape, index, masks=True)
    if reason is not None:
        return reason
    if not isinstance(value, TensorType):
        return None
    if shape == ("mask",):
        return None if value.rank == 0 else "how many elements a mask selects depends on data"
    if any(isinstance(item, TensorType) for item in index) and value.dtype != found.dtype:
        return "index_put takes values of the same dtype"
    try:
        return None if broadcast(shape, value.shape) == shape else "the value does not broadcast into the place"
    except ValueError:
        return "the value does not broadcast into the place"


domains_setitem = domains_getitem


def index_put(draw):
    found = draw.param("input")
    rng = draw.rng
    count = rng.randint(1, found.rank)
    first = None
    operands, types = [], []
    for dim in range(count):
        if found.shape[dim] == 0:
            raise NoValue
        shape = ShapeWant(ranks=(0, 2)) if first is None else ShapeWant(first)
        operand, kind = draw.operand(Want(INDEX, shape, ValueDomain("index", found.shape[dim])))
        first = kind.shape
        operands.append(operand)
        types.append(kind)
    draw.give("indices", tuple(operands), tuple(types))
    draw.tensor("values", shape=ShapeWant((), (0, 5), (), broadcast=(*first, *found.shape[count:]), into=True))


def check_index_put(env):
    indices, found = env["indices"], env["input"]
    if not isinstance(indices, tuple) or not indices or not all(isinstance(i, TensorType) for i in indices):
        return "indices is a tuple of tensors"
    if any(i.dtype not in INDEX for i in indices):
        return "index tensors are i32 or i64"
    shape, reason = index_shape(found.shape, indices, masks=False, scalars=True)
    if reason is not None:
        return reason
    try:
        fits = broadcast(shape, env["values"].shape) == shape
    except ValueError:
        fits = False
    return None if fits else "values do not broadcast into the place"


def domains_index_put(env):
    return {"indices": [ValueDomain("index", n) for n in env["input"].shape[: len(env["indices"])]]}


def index_within(found, dim, index, limit=None):
    """The sizes of an index operand of gather or scatter: in all other dims at most those of `found`."""
    dim = dim % max(found.rank, 1)
    return all(i <= n for d, (i, n) in enumerate(zip(index.shape, found.shape)) if d != dim)


def draw_within(draw, found, dim):
    """A shape that `index_within` accepts."""
    dim = dim % max(found.rank, 1)
    rng = draw.rng
    sizes = [
        rng.choice((n, n, max(n - 1, 0), min(n, 1))) if d != dim else rng.choice((1, 2, 3, n))
        for d, n in enumerate(found.shape)
    ]
    return tuple(sizes)


def gather(draw):
    found = draw.param("input")
    dim = draw.param("dim")
    draw.tensor("index", shape=draw_within(draw, found, dim))


def check_gather(env):
    found, dim, index = env["input"], env["dim"], env["index"]
    if index.rank != max(found.rank, 1) and index.rank != found.rank:
        return "index has another rank"
    if not index_within(found, dim, index):
        return "index is larger than the input in another dim"
    return empty_dim(found, dim, index)


def empty_dim(found, dim, index):
    size = found.shape[dim % max(found.rank, 1)] if found.rank else 1
    return "nothing to index in an empty dim" if index.numel and not size else None


def scatter(draw):
    found = draw.param("input")
    dim = draw.param("dim")
    shape = draw_within(draw, found, dim)
    size = found.shape[dim % found.rank] if found.rank else 1
    at = dim % max(found.rank, 1)
    # Without repeats the result does not depend on the order of writes: one write per lane, or one lane.
    roll = draw.rng.random()
    values = None
    if roll < 0.6:
        shape = (*shape[:at], 1, *shape[at + 1 :])
    elif roll < 0.85:
        shape = tuple(min(n, size) if d == at else min(n, 1) for d, n in enumerate(shape))
        values = ValueDomain("unique", size)
    draw.tensor("index", shape=shape, values=values)
    if "src" in draw.rule.param and not draw.done("src"):
        larger = tuple(n + draw.rng.choice((0, 0, 0, 1)) for n in shape)
        name = "src"
        if draw.rng.random() < 0.8 or len(draw.rule.param[name].specs) == 1:
            draw.tensor(name, shape=larger)


def check_scatter(env):
    found, dim, index, src = env["input"], env["dim"], env["index"], env["src"]
    if index.rank != found.rank:
        return "index has another rank"
    if not index_within(found, dim, index):
        return "index is larger than the input in another dim"
    if isinstance(src, TensorType):
        if src.rank != index.rank or any(i > n for i, n in zip(index.shape, src.shape)):
            return "src is smaller than index"
    return empty_dim(found, dim, index)


def take_along_dim(draw):
    found = draw.param("input")
    dim = draw.param("dim")
    shape = list(found.shape)
    shape[dim % found.rank] = draw.rng.choice((1, 2, 3))
    draw.tensor("indices", shape=tuple(shape))


def check_take_along_dim(env):
    found, dim, index = env["input"], env["dim"], env["indices"]
    at = dim % found.rank
    if index.rank != found.rank or any(a != b for d, (a, b) in enumerate(zip(found.shape, index.shape)) if d != at):
        return "indices differ in another dim"
    return empty_dim(found, dim, index)


def masked_scatter(draw):
    found = draw.param("input")
    draw.tensor("mask", shape=ShapeWant((), (0, 5), (), broadcast=found.shape, into=True))
    draw.tensor("source", shape=(*found.shape, 2)[-3:] if found.numel < 500 else found.shape)


def check_masked_scatter(env):
    found, mask, source = env["input"], env["mask"], env["source"]
    try:
        shape = broadcast(found.shape, mask.shape)
    except ValueError:
        return "the mask does not broadcast"
    if shape != found.shape:
        return "the mask is larger than the input"
    return None if source.numel >= found.numel else "source may have too few elements"


def slice_scatter(draw):
    found = draw.param("input")
    rng = draw.rng
    dim = draw.param("dim")
    size = found.shape[dim]
    start, end, step = rng.choice((None, 0, 1, -1)), rng.choice((None, size, -1, 2)), rng.choice((1, 1, 2))
    draw.set("start", start)
    draw.set("end", end)
    draw.set("step", step)
    shape = list(found.shape)
    shape[dim] = len(range(*slice(start, end, step).indices(size)))
    draw.tensor("src", shape=tuple(shape))


def check_slice_scatter(env):
    found = env["input"]
    dim = env["dim"] % found.rank
    size = len(range(*slice(env["start"], env["end"], env["step"]).indices(found.shape[dim])))
    want = (*found.shape[:dim], size, *found.shape[dim + 1 :])
    return None if env["src"].shape == want else "src has another shape than the slice"


def diagonal_shape(found, offset, dim1, dim2):
    first, second = dim1 % found.rank, dim2 % found.rank
    rows, columns = found.shape[first], found.shape[second]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    rest = tuple(n for d, n in enumerate(found.shape) if d not in (first, second))
    return (*rest, length)


def diagonal_scatter(draw):
    found = draw.param("input")
    values = [draw.param(name) for name in ("offset", "dim1", "dim2")]
    draw.tensor("src", shape=diagonal_shape(found, *values))


def check_diagonal_scatter(env):
    want = diagonal_shape(env["input"], env["offset"], env["dim1"], env["dim2"])
    return None if env["src"].shape == want else "src has another shape than the diagonal"
