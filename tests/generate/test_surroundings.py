"""What is put around operators: each change by itself on small programs, and what it must keep."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
import torch

from fuzzgraph.generate import surroundings
from fuzzgraph.generate.adapt import Adapters
from fuzzgraph.generate.hazards import hazard
from fuzzgraph.generate.numbers import Numbers
from fuzzgraph.harness.program import Loaded, identity, run_once
from fuzzgraph.ir.builder import Builder, Rejected
from fuzzgraph.ir.program import Program, op_of, type_of
from fuzzgraph.ir.retype import retype
from fuzzgraph.ir.text import format, parse
from fuzzgraph.ir.types import UnsizedType
from fuzzgraph.oracles._taint import taint
from fuzzgraph.render import render
from tests.generate.worlds import RULES, MetaInference, program, tiny_book

MORE = """
op sub(input, other, *, alpha)
  input : tensor float [*S] broadcast
  other : tensor float [*S] broadcast
  alpha : number {2, -1, 0, 3, 0.5} = 1
  result promote(input, other) [*S]

op sum(input)
  input : tensor any [*S]
  result input []
"""
BOOK = tiny_book(RULES + MORE)
INFER = MetaInference(BOOK)
TEXT = """input x: f32[4] values normal
input y: f32[4] values normal seed 1
const w: f32[4] values normal seed 2
def f(x, y) {
  a = relu(x)
  b = sub(a, w, alpha = 2)
  c = add(b, y)
  return (b, c)
}
call f(x, y)"""


def changed(name: str, text: str = TEXT, seeds: int = 30) -> list[Program]:
    """All that a change makes of a program within some seeds; what it refuses is left out."""
    found = []
    for seed in range(seeds):
        b = Builder(INFER, BOOK.check, base=program(text, BOOK))
        f = b.functions["f"]
        try:
            getattr(surroundings, name)(Numbers(BOOK, Adapters(BOOK), b, f), Random(seed))
        except Rejected:
            continue
        b.stale = True
        found.append(b.build())
    return found


def values(made: Program) -> list[Any]:
    run = run_once(Loaded.of(render(made, BOOK).source, {"grad": made.options.grad}), identity)
    assert run.error is None, f"{run.error}\n{format(made)}"
    return run.results


def ops(made: Program) -> set[str]:
    return {op_of(n) for n in made.nodes()}


KEEPING = (
    "keep_in_state", "keep_in_object", "call_helper", "hold_constants", "close_over_number", "pass_number",
    "read_number",
)  # fmt: skip


@pytest.mark.parametrize("name", KEEPING)
def test_the_first_call_gives_what_it_gave(name: str) -> None:
    wanted = values(program(TEXT, BOOK))[0]
    found = changed(name)
    assert len(found) >= 5
    for made in found:
        for a, b in zip(wanted, values(made)[0], strict=True):
            assert torch.equal(a, b), format(made)
        assert format(parse(format(made))) == format(made)


def test_each_kind_of_state_is_used() -> None:
    found = changed("keep_in_state", seeds=80)
    assert {s.kind for made in found for s in made.states} == {"list", "dict", "object", "class", "global"}
    read = {"state.pop", "state.getitem", "state.getattr", "state.read", "state.len"}
    written = {"state.append", "state.setitem", "state.setattr", "state.assign"}
    assert set().union(*map(ops, found)) >= read | written


def test_what_is_read_from_state_follows_what_was_put_there() -> None:
    text = """input x: f32[4] values normal
state s: dict = {}
def f(x) {
  a = relu(x)
  p = state.setitem(s, "k", a)
  b: f32[4] &a = state.getitem(s, "k")
  return b
}
call f(x)"""
    b = Builder(INFER, BOOK.check, base=program(text, BOOK))
    b.set_input("x", b.spec("x").__class__("x", b.spec("x").type.with_(dtype="i64"), b.spec("x").values))
    retype(b)
    assert b.functions["f"].node("b").meta["type"].dtype == "i64"


def test_helpers_are_called_and_closures_of_them_made() -> None:
    found = changed("call_helper", seeds=60)
    assert all("call" in ops(made) for made in found)
    with_captures = [made for made in found if "closure" in ops(made)]
    assert with_captures and all(any(f.captures for f in made.functions) for made in with_captures)


def test_helpers_are_held_by_operators_autograd_functions_and_decorators() -> None:
    found = changed("call_helper", seeds=120)
    kinds = {(c.kind, c.args if c.kind == "decorated" else ()) for made in found for c in made.closures}
    decorators = {("decorated", (name,)) for name in ("nested_compile_region", "disable", "no_grad", "enable_grad")}
    assert kinds == {("custom_op", ()), ("autograd_function", ()), *decorators}


def test_gradients_of_a_helper_have_the_types_of_its_parameters() -> None:
    text = TEXT.replace("x: f32[4]", "x: f32[4] grad").replace("def", "option grad = True\ndef", 1)
    found = changed("call_helper", text, seeds=150)
    kinds = {c.kind for made in found for c in made.closures}
    assert kinds == {"autograd_function", "decorated"}  # an operator has no derivative
    computed = False
    for made in (m for m in found if any(c.kind == "autograd_function" for c in m.closures)):
        held = next(c for c in made.closures if c.kind == "autograd_function")
        forward, backward = made.function(held.function), made.function(held.args[0].name)
        for param, node in zip(forward.params, backward.result, strict=True):
            assert node is None or type_of(node).shape == type_of(param).shape
        computed = computed or bool(backward.body)
        values(made)
    assert computed


def test_what_an_operator_holds_may_not_become_a_view() -> None:
    text = """input x: f32[4] values normal
def h(x: f32[4]) {
  a = relu(x)
  return a
}
closure op = h() as custom_op
def f(x) {
  y: f32[4] = call(op, x)
  return y
}
call f(x)"""
    adapters = Adapters(BOOK)
    assert hazard(BOOK, adapters, Builder(INFER, BOOK.check, base=program(text, BOOK))) is None
    view = program(text.replace("relu(x)", "reshape(x, [2, 2])").replace("y: f32[4]", "y: f32[2, 2]"), BOOK)
    assert "may hold h" in str(hazard(BOOK, adapters, Builder(INFER, BOOK.check, base=view)))
    grad = program(text.replace("x: f32[4] values", "x: f32[4] grad values"), BOOK)
    assert "may hold h" in str(hazard(BOOK, adapters, Builder(INFER, BOOK.check, base=grad)))


def test_layers_are_in_training_and_out_of_it() -> None:
    text = """input x: f32[4, 3] values normal
def f(x) {
  a = relu(x)
  b = add(a, 1)
  return b
}
call f(x)"""
    found = changed("apply_layer", text, seeds=150)
    names = {s.initial[0] for made in found for s in made.states}
    assert names >= {"BatchNorm1d", "Dropout", "LayerNorm", "Linear"}
    assert any(s.initial[2].get("momentum", 0) is None for made in found for s in made.states)
    assert {c.args for made in found for c in made.closures} == {(), ("eval",)}
    assert {made.options.grad for made in found} == {True, False} and {len(made.calls) for made in found} == {1, 2, 3}
    assert all(made.calls[1].plain for made in found if len(made.calls) == 3)
    for made in found:
        draws = "Dropout" in made.states[0].initial[0] and not any(c.args for c in made.closures)
        assert bool(taint(made, BOOK).outputs) == draws, format(made)
        assert all(result is None or result.shape == (4, 3) for result in values(made))
        assert format(parse(format(made), INFER, BOOK.check)) == format(made)


def test_a_layer_must_still_take_its_operand() -> None:
    text = """input x: f32[4, 3] values normal
state l: layer = ("BatchNorm1d", (3,), {})
def f(x) {
  y = call(l, x)
  return y
}
call f(x)"""
    for change, why in (({"shape": (4, 5)}, "running_mean"), ({"dtype": "f64"}, "gets f64")):
        b = Builder(INFER, BOOK.check, base=program(text, BOOK))
        kind = b.spec("x").type
        stride = (5, 1) if "shape" in change else kind.stride
        b.set_input("x", replace(b.spec("x"), type=kind.with_(stride=stride, **change)))
        with pytest.raises(Rejected, match=why):
            retype(b)


def test_a_held_helper_must_still_take_its_operands() -> None:
    text = """input x: f32[4, 3] values normal
def h(a: f32[4, 3]) {
  b: f32[3, 4] &a = reshape(a, [3, 4])
  c: f32[3, 4] = neg(b)
  return c
}
closure op = h() as custom_op
def f(x) {
  y: f32[3, 4] = call(op, x)
  return y
}
call f(x)"""
    b = Builder(INFER, BOOK.check, base=program(text, BOOK))
    b.set_input("x", replace(b.spec("x"), type=b.spec("x").type.with_(dtype="f64")))
    retype(b)
    assert type_of(b.functions["f"].node("y")).dtype == "f64"
    b.set_input("x", replace(b.spec("x"), type=b.spec("x").type.with_(shape=(4, 5), stride=(5, 1))))
    with pytest.raises(Rejected, match="reshape"):
        retype(b)


def test_a_helper_takes_no_sizes_of_data_where_it_had_fixed_ones() -> None:
    text = """input x: f32[4] values normal
def h(a: f32[4]) {
  b = relu(a)
  return b
}
def f(x) {
  v: f32[4] = neg(x)
  y: f32[4] = call(h, v)
  return y
}
call f(x)"""
    b = Builder(INFER, BOOK.check, base=program(text, BOOK))
    node = b.functions["f"].node("v")
    node.meta.update(op="python", type=UnsizedType("f32", (None,)))  # opaque, so that its type stays
    with pytest.raises(Rejected, match="a size of a depends on data"):
        retype(b)


def test_a_layer_out_of_training_may_give_what_it_gets() -> None:
    text = """input x: f32[4] values normal
state l: layer = ("Dropout", (), {})
def f(x) capturing (m) {
  y = call(m, x)
  return y
}
closure g = f(m = l) as module("eval")
call g(x)"""
    assert "y: f32[4] &x = call(m, x)" in format(program(text, BOOK))
    assert "y: f32[4] = call(m, x)" in format(program(text.replace('("eval")', ""), BOOK))


def test_writing_to_what_a_layer_gave_may_be_a_hazard() -> None:
    text = """input x: f32[4] values normal
state l: layer = ("PReLU", (), {})
def f(x) {
  y: f32[4] grad = call(l, x)
  z: f32[4] grad &y = Tensor.relu_(y)
  return z
}
call f(x)"""
    found = hazard(BOOK, Adapters(BOOK), Builder(INFER, BOOK.check, base=program(text, BOOK)))
    assert found == "f: z writes y, which backward may need"


def test_a_helper_is_not_made_of_what_writes_or_shares_memory() -> None:
    text = "input x: f32[4] values normal\ndef f(x) {\n a = Tensor.relu_(x)\n return a\n}\ncall f(x)"
    assert changed("call_helper", text) == []


def test_numbers_are_passed_and_captured() -> None:
    passed = changed("pass_number")
    assert {made.calls[0].args[-1] for made in passed} == {2}
    assert any(len({c.args[-1] for c in made.calls}) > 1 for made in passed)
    captured = changed("close_over_number", seeds=60)
    assert all(made.functions[0].captures for made in captured)
    assert any(len(made.closures) == 2 and len(made.calls) == 2 for made in captured)
    setting = [made for made in captured if "state.assign" in ops(made)]
    assert setting and all(len(made.closures) == 1 and len(made.calls) == 2 for made in setting)


def test_numbers_in_state_are_others_in_a_second_call() -> None:
    found = changed("read_number", seeds=60)
    assert {s.kind for made in found for s in made.states} == {"global", "list", "dict", "object", "class"}
    assert {len(made.calls) for made in found} == {2, 3}
    for made in found:
        first, *between, second = values(made)
        assert not torch.equal(first[0], second[0]) and between == [None] * (len(made.calls) - 2)
        assert [c.plain for c in made.calls[1:-1]] == [True] * len(between)


def test_one_input_is_passed_twice() -> None:
    found = changed("pass_twice")
    assert {tuple(a.name for a in made.calls[-1].args) for made in found} <= {("x", "x"), ("y", "y")}
    assert {len(made.calls) for made in found} == {1, 2}
    for made in found:
        assert len(made.inputs) == len({a.name for c in made.calls for a in c.args})
        assert values(made)[0] != []


def test_inputs_that_share_memory_are_not_passed_twice() -> None:
    text = TEXT.replace("input y: f32[4]", "input y: f32[4] view of x")
    assert changed("pass_twice", text.replace("values normal seed 1", "")) == []


def test_a_gradient_is_taken_inside() -> None:
    text = TEXT.replace("x: f32[4]", "x: f32[4] grad")
    for made in changed("differentiate", text + "\noption grad = True"):
        assert "autograd.grad" in ops(made)
        *_, found = values(made)[0]
        assert found.shape == (4,)
    assert changed("differentiate") == []


def test_no_gradient_where_autograd_may_be_off() -> None:
    text = TEXT.replace("x: f32[4]", "x: f32[4] grad") + "\noption grad = True"
    assert changed("differentiate", text.replace("call f(x, y)", "call f(x, y) with no_grad")) == []
