"""What must not be compared, found by data flow; rules are stand-ins."""

from types import SimpleNamespace

import pytest

from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.infer import Inferred
from fuzzgraph.ir.program import Call, InputSpec, Ref, State
from fuzzgraph.ir.types import SequenceType, tensor
from fuzzgraph.ir.values import Values
from fuzzgraph.oracles import value
from fuzzgraph.oracles._taint import taint

F, INTS = tensor("f32", (4,)), tensor("i64", (4,))


class Types:
    """topk gives a pair, argsort integers, in-place operators alias their operand, the rest is like F."""

    def infer(self, op, args, kwargs):
        if op == "topk":
            return Inferred(SequenceType("tuple", (F, INTS)), None, (None, None))
        if op in ("argsort", "Tensor.long"):
            return Inferred(INTS, None, (None,))
        return Inferred(F, None, (0 if op.endswith("_") or op == "Tensor.view" else None,))


TAGS = {
    "topk": "index_valued", "argsort": "index_valued", "rand_like": "random", "empty_like": "uninitialized",
    "Tensor.add_": "inplace", "Tensor.normal_": "inplace random", "Tensor.view": "view",
    "Tensor.long": "discontinuous", "floor": "discontinuous",
}  # fmt: skip
BOOK = SimpleNamespace(rules={op: SimpleNamespace(tags=frozenset(tags.split())) for op, tags in TAGS.items()})


def build(body, inputs=("x",), states=()):
    b = Builder(Types())
    for name in inputs:
        b.add_input(InputSpec(name, F))
    for state in states:
        b.add_state(state)
    b.add_call(Call("f", tuple(Ref(n) for n in inputs)))
    f = b.function("f", [(n, F) for n in inputs])
    f.returns(body(f))
    return b.build()


def test_a_plain_program_is_clean():
    program = build(lambda f: (f.op("relu", (f.node("x"),)),))
    found = taint(program, BOOK)
    assert (found.outputs, found.inputs, found.sources) == ([], [], [])
    assert value.plan(program, BOOK)["sources"] == []
    assert taint(program, None).outputs == []


def test_floats_that_become_integers_are_not_compared():
    program = build(lambda f: (f.op("floor", (f.node("x"),)), f.op("Tensor.long", (f.node("x"),))))
    assert taint(program, BOOK).outputs == [[0, 1]]


@pytest.mark.parametrize("op", ["rand_like", "empty_like", "argsort"])
def test_taint_flows_to_results(op):
    def body(f):
        a = f.op(op, (f.node("x"),))
        return (f.op("relu", (f.node("x"),)), [f.op("relu", (a,)), f.node("x")])

    program = build(body)
    assert taint(program, BOOK).outputs == [[0, 1, 0]]
    assert bool(value.plan(program, BOOK)["sources"])


def test_only_the_indices_of_a_pair_are_tainted():
    def body(f):
        pair = f.op("topk", (f.node("x"), 2))
        values, indices = f.op("getitem", (pair, 0)), f.op("getitem", (pair, 1))
        return (values, indices, f.op("gather", (values, 0, indices)), pair)

    assert taint(build(body), BOOK).outputs == [[0, 1], [0, 2], [0, 3, 1]]


def test_writing_taints_the_storage_and_the_input():
    def body(f):
        noise = f.op("rand_like", (f.node("x"),))
        seen = f.op("Tensor.view", (f.node("x"), (4,)))
        f.op("Tensor.add_", (f.node("x"), noise))
        return (seen, f.op("relu", (f.node("y"),)))

    found = taint(build(body, ("x", "y")), BOOK)
    assert (found.outputs, found.inputs) == ([[0, 0]], ["x"])


def test_an_operator_that_fills_with_random_numbers():
    found = taint(build(lambda f: (f.op("Tensor.normal_", (f.node("x"),)), f.node("y")), ("x", "y")), BOOK)
    assert (found.outputs, found.inputs) == ([[0, 0]], ["x"])


def test_states_carry_taint():
    def body(f):
        state = f.read("log")
        f.op("state.append", (state, f.op("rand_like", (f.node("x"),))))
        return (f.op("state.pop", (state,)),)

    found = taint(build(body, states=(State("log", "list"),)), BOOK)
    assert found.states == ["log"] and found.outputs == [[0, 0]]


BOOLS = tensor("bool", (4,))


class Compares(Types):
    """`gt` and `Tensor.bool` give truth values."""

    def infer(self, op, args, kwargs):
        return Inferred(BOOLS, None, (None,)) if op in ("gt", "Tensor.bool") else super().infer(op, args, kwargs)


def test_truth_values_of_rounded_floats_are_not_compared():
    book = SimpleNamespace(rules={**BOOK.rules, **{
        "gt": SimpleNamespace(tags=frozenset({"exact", "discontinuous"})),
        "Tensor.bool": SimpleNamespace(tags=frozenset({"discontinuous"})),
        "sin": SimpleNamespace(tags=frozenset()),
    }})  # fmt: skip
    b = Builder(Compares())
    b.add_input(InputSpec("x", F))
    b.add_call(Call("f", (Ref("x"),)))
    f = b.function("f", [("x", F)])
    x = f.node("x")
    seen = f.op("Tensor.view", (x, (4,)))
    rounded = f.op("Tensor.view", (f.op("sin", (x,)), (4,)))
    exact = (f.op("gt", (seen, 0)), f.op("Tensor.bool", (x,)))
    f.returns((*exact, f.op("gt", (rounded, 0)), f.op("Tensor.bool", (rounded,))))
    assert taint(b.build(), book).outputs == [[0, 2], [0, 3]]


def test_the_bits_of_computed_floats_are_not_compared():
    class Bitcast(Types):
        def infer(self, op, args, kwargs):
            if op == "Tensor.view":
                return Inferred(tensor("i32", (4,)) if args[1] == "i32" else F, None, (0,))
            return super().infer(op, args, kwargs)

    def program(body, dtype):
        b = Builder(Bitcast())
        b.add_input(InputSpec("x", tensor(dtype, (4,)), Values("bools")))
        b.add_call(Call("f", (Ref("x"),)))
        f = b.function("f", [("x", tensor(dtype, (4,)))])
        f.returns(body(f))
        return taint(b.build(), BOOK)

    # An input's own bits, and floats that are made of integers' bits, are what they are.
    assert program(lambda f: (f.op("Tensor.view", (f.node("x"), "i32")),), "f32").outputs == []
    assert program(lambda f: (f.op("Tensor.view", (f.node("x"), "f32")),), "i32").outputs == []
    # A computed float's are not; the float itself is compared.
    def both(f):
        made = f.op("exp", (f.node("x"),))
        return made, f.op("Tensor.view", (made, "i32"))

    made = program(both, "f32")
    assert (made.outputs, made.inputs) == ([[0, 1]], [])
    # Written through a view: the integers that are an input.
    written = program(lambda f: (f.op("Tensor.add_", (f.op("Tensor.view", (f.node("x"), "f32")), 1)),), "i32")
    assert written.inputs == ["x"]


def test_what_nothing_rounds_is_exact():
    """A result that the program's inputs decide to the last bit needs no test of how it moves with an ulp."""
    book = SimpleNamespace(rules={**BOOK.rules, **{
        "floor_divide": SimpleNamespace(tags=frozenset({"exact", "discontinuous"})),
        "sin": SimpleNamespace(tags=frozenset()),
    }})  # fmt: skip

    def body(f):
        x = f.node("x")
        whole = f.op("floor_divide", (x, f.op("Tensor.view", (x, (4,)))))
        return {"whole": whole, "x": x, "of rounded": [f.op("floor_divide", (f.op("sin", (x,)), x))]}

    assert taint(build(body), book).exact == [[0, "whole"], [0, "x"]]
    assert value.plan(build(body), book)["exact"] == [[0, "whole"], [0, "x"]]


def test_nothing_is_exact_where_a_later_call_starts_from_what_was_rounded():
    def body(f):
        return (f.op("Tensor.add_", (f.node("x"), 1)), f.op("Tensor.view", (f.node("y"), (4,))))

    program = build(body, ("x", "y"))
    assert taint(program, BOOK).exact == []
