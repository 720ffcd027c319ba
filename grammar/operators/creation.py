"""Sampler and check of creation.rules: data of a constant tensor."""

import itertools

from fuzzgraph.grammar.attributes import EDGE_FLOATS, EDGE_INTS
from fuzzgraph.grammar.dtypes import fits
from fuzzgraph.ir.types import DTYPES


def constant(draw):
    rng = draw.rng
    kind = rng.choice(("bool", "int", "int", "float", "float", "complex"))
    make = {
        "bool": lambda: rng.random() < 0.5,
        "int": lambda: rng.choice(EDGE_INTS),
        "float": lambda: rng.choice(EDGE_FLOATS),
        "complex": lambda: complex(rng.choice((0.0, 1.0, -2.5)), rng.choice((0.0, 1.0, -0.5))),
    }[kind]
    shape = rng.choice(((), (), (1,), (2,), (3,), (17,), (2, 2), (1, 3)))
    draw.set("data", _nested(shape, make))


def _nested(shape, make):
    return make() if not shape else [_nested(shape[1:], make) for _ in range(shape[0])]


def check_constant(env):
    data, dtype = env["data"], env["dtype"]
    shape = _shape(data)
    if shape is None:
        return "data is a number or lists of equal length"
    leaves = list(_leaves(data))
    kinds = {type(v) for v in leaves}
    if not kinds <= {bool, int, float, complex} or len(kinds) > 1:
        return "data has numbers of one kind"
    if dtype is not None and DTYPES[dtype].kind != "complex" and complex in kinds:
        return "complex data needs a complex dtype"
    if (
        dtype is not None
        and DTYPES[dtype].kind in ("bool", "int")
        and float in kinds
        and not all(fits(v, dtype) for v in leaves)
    ):
        return "data does not fit the dtype"
    return None if dtype is None or all(fits(v, dtype) for v in leaves) else "data does not fit the dtype"


def _shape(data):
    if not isinstance(data, (tuple, list)):
        return ()
    shapes = {_shape(item) for item in data}
    if len(shapes) > 1 or None in shapes:
        return None
    return (len(data), *(shapes.pop() if shapes else ()))


def _leaves(data):
    if not isinstance(data, (tuple, list)):
        return iter((data,))
    return itertools.chain.from_iterable(map(_leaves, data))
