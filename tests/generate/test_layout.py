"""Shapes and layouts of inputs."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzgraph.generate.layout import LAYOUTS, MAX_ELEMENTS, OVERLAPPING, draw_layout, draw_shape, similar_strides
from fuzzgraph.ir.types import TensorType, contiguous_strides

SEEDS = st.integers(0, 2**32).map(Random)


@given(SEEDS)
def test_shapes_are_bounded(rng):
    shape = draw_shape(rng)
    kind = TensorType("f32", shape, contiguous_strides(shape))
    assert len(shape) <= 5
    assert kind.numel <= MAX_ELEMENTS


@pytest.mark.parametrize("name", sorted(set(LAYOUTS) - OVERLAPPING))
@given(rng=SEEDS)
def test_layouts_give_each_element_one_index(name, rng):
    shape = draw_shape(rng)
    stride, offset = LAYOUTS[name](shape, rng)
    assert not TensorType("f32", shape, stride, offset).has_overlap


@given(SEEDS)
def test_without_overlap_none_is_drawn(rng):
    shape = draw_shape(rng)
    stride, offset = draw_layout(shape, rng, overlap=False)
    assert not TensorType("f32", shape, stride, offset).has_overlap


def test_every_layout_is_drawn():
    found = set()
    for seed in range(300):
        stride, offset = draw_layout((4, 3, 2, 5), Random(seed))
        found.add((stride, offset))
    assert (contiguous_strides((4, 3, 2, 5)), 0) in found
    assert ((30, 1, 15, 3), 0) in found  # channels last
    assert any(0 in stride for stride, _ in found)
    assert any(offset for _, offset in found)


def test_channels_last():
    assert LAYOUTS["channels_last"]((2, 3, 4, 5), Random(0)) == ((60, 1, 15, 3), 0)


@pytest.mark.parametrize(
    ("shape", "stride", "new", "expected"),
    [
        ((4, 8), (8, 1), (4, 9), (9, 1)),
        ((4, 8), (1, 4), (5, 8), (1, 5)),
        ((4, 8), (0, 1), (4, 9), (0, 1)),
        ((), (), (), ()),
    ],
)
def test_another_shape_keeps_the_order_of_memory(shape, stride, new, expected):
    assert similar_strides(shape, stride, new) == expected
