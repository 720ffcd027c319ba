"""Values and dtypes of inputs."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzgraph.generate.inputs import DTYPE_WEIGHTS, draw_dtype, draw_type, draw_values, view_into
from fuzzgraph.generate.layout import draw_shape
from fuzzgraph.ir.program import InputSpec
from fuzzgraph.ir.types import DTYPES, tensor
from fuzzgraph.ir.values import problem

SEEDS = st.integers(0, 2**32).map(Random)


def test_every_dtype_has_a_weight():
    assert DTYPE_WEIGHTS.keys() == DTYPES.keys()


@pytest.mark.parametrize("dtype", DTYPES)
@given(rng=SEEDS)
def test_values_fit_their_dtype(dtype, rng):
    assert problem(draw_values(dtype, rng), dtype) is None


@given(SEEDS)
def test_only_allowed_dtypes(rng):
    assert draw_dtype({"i16", "bool"}, rng) in ("i16", "bool")


@given(SEEDS)
def test_views_stay_inside_their_base(rng):
    base = InputSpec("x", draw_type("f32", draw_shape(rng), rng))
    kind = view_into(base, draw_shape(rng), rng)
    assert kind is None or kind.extent <= base.type.extent


def test_no_view_of_too_small_a_base():
    assert view_into(InputSpec("x", tensor("f32", (4,))), (5,), Random(0)) is None
