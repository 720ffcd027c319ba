"""Random input specs: any dtype, layout and value distribution."""

from typing import Any

from hypothesis import strategies as st

from fuzzgraph.ir.program import InputSpec
from fuzzgraph.ir.types import DTYPES, TensorType, contiguous_strides
from fuzzgraph.ir.values import VALUE_KINDS, Values, problem

FLOATS = st.floats(allow_nan=True, allow_infinity=True)
PARAMS: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "normal": st.sampled_from([(), (1.0,), (0.0, 100.0)]),
    "uniform": st.sampled_from([(), (-1.0,), (-2.0, 2.0)]),
    "ints": st.sampled_from([(), (-3,), (0, 0), (-(2**63), 2**63 - 1), (5, -5), (200, 300)]),
    "index": st.integers(1, 300).map(lambda n: (n,)),
    "permutation": st.just(()),
    "bools": st.sampled_from([(), (0.0,), (1.0,)]),
    "arange": st.sampled_from([(), (3,), (-5, 2), (0, 0.5), (1000, -7)]),
    "full": st.one_of(FLOATS, st.integers(-(2**70), 2**70), st.booleans()).map(lambda v: (v,)),
    "ties": st.integers(1, 9).map(lambda n: (n,)),
    "edge": st.sampled_from([(), (0.0,), (1.0,)]),
    "data": st.lists(st.one_of(FLOATS, st.integers(-300, 300)), min_size=1, max_size=5).map(tuple),
}
assert PARAMS.keys() == VALUE_KINDS.keys()


@st.composite
def tensor_types(draw: st.DrawFn, dtype: str | None = None) -> TensorType:
    name = draw(st.sampled_from(sorted(DTYPES))) if dtype is None else dtype
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
    stride = contiguous_strides(shape)
    offset = 0
    if draw(st.booleans()):
        stride = tuple(draw(st.integers(0, 7)) for _ in shape)
        offset = draw(st.integers(0, 5))
    grad = DTYPES[name].kind in ("float", "complex") and draw(st.booleans())
    return TensorType(name, shape, stride, offset, requires_grad=grad)


@st.composite
def input_specs(draw: st.DrawFn, kind: str | None = None) -> InputSpec:
    chosen = draw(st.sampled_from(sorted(VALUE_KINDS))) if kind is None else kind
    fitting = [d.name for d in DTYPES.values() if d.kind in VALUE_KINDS[chosen].kinds]
    t = draw(tensor_types(draw(st.sampled_from(fitting))))
    values = Values(chosen, draw(PARAMS[chosen]), draw(st.integers(0, 3)))
    assert problem(values, t.dtype) is None
    storage = draw(st.none() | st.integers(t.extent, t.extent + 9))
    dynamic = tuple(draw(st.sets(st.sampled_from(range(t.rank)), max_size=2))) if t.rank else ()
    return InputSpec("x", t, values, storage, dynamic)
