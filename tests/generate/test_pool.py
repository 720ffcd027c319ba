"""Operands from a program under construction."""

from random import Random

import pytest

from fuzzgraph.generate import Profile
from fuzzgraph.generate.pool import ProgramSource
from fuzzgraph.grammar import ShapeWant, ValueDomain, Want
from fuzzgraph.ir.builder import Builder, FunctionBuilder
from fuzzgraph.ir.program import InputSpec, type_of
from fuzzgraph.ir.types import tensor
from tests.generate.worlds import MetaInference, tiny_book

BOOK = tiny_book()
# Never anything new where something that exists can be used or adapted.
THRIFTY = Profile(fresh=0.0, apart=0.0, constant=0.0, in_graph=0.0, adapt=1.0, shared_input=0.0)


def source(*kinds, profile=THRIFTY, grad=False, **more) -> ProgramSource:
    """A source over a function with one input per type, named a, b, ..."""
    b = Builder(MetaInference(BOOK), BOOK.check)
    f = b.function("main")
    for name, kind in zip("abcdef", kinds, strict=False):
        b.add_input(InputSpec(name, kind))
        f.add_placeholder(name, kind)
    return ProgramSource(BOOK, b, f, profile, grad=grad, **more)


def calls(f: FunctionBuilder) -> list[tuple]:
    return [(n.meta["op"], *(str(a) for a in n.args)) for n in f.body]


def want(dtype: str, shape: tuple[int, ...], **more) -> Want:
    return Want(frozenset({dtype}), ShapeWant(head=shape), **more)


def test_a_value_that_fits_is_used():
    s = source(tensor("f32", (4,)), tensor("i64", (4,)))
    node, kind = s.tensor(want("i64", (4,)), Random(0))
    assert node.name == "b"
    assert kind == tensor("i64", (4,))


@pytest.mark.parametrize(
    ("have", "dtype", "shape", "expected"),
    [
        (tensor("f32", (4,)), "f64", (4,), [("Tensor.to", "a", "torch.float64")]),
        (tensor("f32", (4,)), "f32", (2, 2), [("reshape", "a", "(2, 2)")]),
        (tensor("f32", (1, 4)), "f32", (3, 4), [("broadcast_to", "a", "(3, 4)")]),
        (tensor("i8", (1,)), "f32", (5,), [("broadcast_to", "a", "(5,)"), ("Tensor.to", "v0", "torch.float32")]),
    ],
)
def test_a_value_that_does_not_fit_is_adapted(have, dtype, shape, expected):
    s = source(have)
    found = s.tensor(want(dtype, shape), Random(0))
    assert found is not None
    assert found[1].dtype, found[1].shape == (dtype, shape)
    assert calls(s.f) == expected


def test_slices_where_sizes_are_larger():
    s = source(tensor("f32", (4, 6)))
    _, kind = s.tensor(want("f32", (4, 5)), Random(0))
    assert kind.shape == (4, 5)
    assert [c[0] for c in calls(s.f)] == ["narrow"]


def test_no_float_becomes_an_integer():
    s = source(tensor("f32", (4,)))
    node, _ = s.tensor(want("i64", (4,)), Random(0))
    assert node.op == "placeholder"  # a fresh input
    assert calls(s.f) == []


def test_elements_are_moved_into_the_domain():
    s = source(tensor("i64", (4,)))
    s.tensor(want("i64", (4,), values=ValueDomain("index", 7.0)), Random(0))
    assert calls(s.f) == [("remainder", "a", "7")]


def test_what_is_written_must_not_overlap():
    s = source(tensor("f32", (4, 4), (0, 1)))
    _, kind = s.tensor(want("f32", (4, 4), mutable=True), Random(0))
    assert not kind.has_overlap


def test_a_leaf_is_copied_before_it_is_written():
    s = source(tensor("f32", (4,)).with_(requires_grad=True), grad=True)
    s.tensor(want("f32", (4,), mutable=True), Random(0))
    assert calls(s.f) == [("clone", "a")]


def test_fresh_inputs_fit_and_have_values_of_the_domain():
    for seed in range(50):
        s = source()
        asked = want("i64", (3,), values=ValueDomain("index", 4.0))
        node, kind = s.tensor(asked, Random(seed))
        assert asked.problem(kind) is None
        assert s.know.holds(asked.values, node)


def test_settling_takes_back_what_is_not_used():
    s = source(tensor("f32", (4,)), profile=Profile(fresh=1.0, apart=1.0))
    s.begin()
    node, _ = s.tensor(want("f32", (2, 2)), Random(3))
    s.tensor(want("f16", (5,)), Random(4))
    s.settle(node)
    assert node in s.f.nodes
    assert {n.name for n in s.f.placeholders} == {spec.name for spec in s.b.inputs}
    s.settle()
    assert s.f.names == {"a"}
    assert [spec.name for spec in s.b.inputs] == ["a"]


def test_before_a_node_only_earlier_values_are_used():
    s = source(tensor("f32", (4,)))
    first = s.f.op("neg", (s.f.node("a"),))
    s.f.op("relu", (first,))
    early = ProgramSource(BOOK, s.b, s.f, THRIFTY, before=first)
    assert [n.name for n in early.values()] == ["a"]


def test_the_preferred_value_comes_first():
    s = source(*[tensor("f32", (4,))] * 6)
    s.prefer = s.f.node("c")
    assert s.tensor(want("f32", (4,)), Random(0))[0].name == "c"


def test_equal_states_give_equal_operands():
    def drawn(seed: int) -> list[str]:
        s = source(profile=Profile())
        rng = Random(seed)
        return [str(type_of(s.tensor(Want(), rng)[0])) for _ in range(4)]

    assert drawn(5) == drawn(5)
