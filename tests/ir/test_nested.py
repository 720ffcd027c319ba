"""Functions as operands: what inference gets, on which types they are called, and what follows from a change."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from fuzzgraph.execution.infer import InferClient
from fuzzgraph.ir import text, wire
from fuzzgraph.ir.builder import Builder, Rejected
from fuzzgraph.ir.builtins import resolve
from fuzzgraph.ir.nested import Runnable, called_by_operators, code_of, has_code
from fuzzgraph.ir.program import Call, InputSpec, Program, Ref, type_of
from fuzzgraph.ir.types import FunctionType, SequenceType, tensor
from fuzzgraph.render import render

PROGRAM = """fuzzgraph 1
input x: f32[3, 4] grad values normal
input p: bool[] values bools
option grad = True
def g(a: f32[3, 4]) { b = sin(a) c = mul(b, 2) return c }
def h(a: f32[3, 4]) { b = cos(a) return b }
def k(a: f32[4]) { b = sum(a) c = mul(a, b) return (b, c) }
def f(x, p) {
  y = cond(p, g, h, (x,))
  z = vmap.of(k, y, out_dims = (0, 1))
  w = getitem(z, 1)
  return (y, w)
}
call f(x, p)
"""


@pytest.fixture(scope="module")
def infer() -> Iterator[InferClient]:
    with InferClient() as client:
        yield client


def declared(program: Program, function: str, name: str) -> object:
    return type_of(next(n for n in program.function(function).graph.nodes if n.name == name))


def test_types_come_from_running_the_functions(infer: InferClient) -> None:
    program = text.parse(PROGRAM, infer=infer)
    # Results of operands that require grad require grad.
    assert declared(program, "f", "y") == tensor("f32", (3, 4)).with_(requires_grad=True)
    batched = tensor("f32", (4, 3), (1, 4)).with_(requires_grad=True)
    sums = tensor("f32", (3,)).with_(requires_grad=True)
    assert declared(program, "f", "z") == SequenceType("tuple", (sums, batched))
    assert declared(program, "f", "g") == FunctionType()


def test_round_trips(infer: InferClient) -> None:
    program = text.parse(PROGRAM, infer=infer)
    assert text.parse(text.format(program), infer=infer) == program
    assert text.parse(text.format(program)) == program
    assert wire.unpack(wire.pack(program)) == program


def test_eager_runs_the_rendered_source(infer: InferClient) -> None:
    source = render(text.parse(PROGRAM.replace("cond(p, g, h, (x,))", "func.jvp(g, (x,), (x,))").replace(
        "vmap.of(k, y,", "vmap.of(k, x,"), infer=infer)).source  # fmt: skip
    assert "torch.func.jvp(g, (x,), (x,))" in source
    assert "z = torch.vmap(k, out_dims=(0, 1))(x)" in source
    space: dict[str, object] = {}
    exec(source, space)
    inputs = space["make_inputs"]()  # type: ignore[operator]
    ((y, w),) = space["run"](lambda f: f, inputs)  # type: ignore[operator]
    x = inputs["x"]
    torch.testing.assert_close(y, (2 * x.sin(), 2 * x * x.cos()))
    torch.testing.assert_close(w, (x * x.sum(1, keepdim=True)).T)


def test_a_new_shape_reaches_the_functions(infer: InferClient) -> None:
    program = text.parse(PROGRAM, infer=infer)
    b = Builder(infer, None, program)
    b.set_input("x", replace(b.spec("x"), type=tensor("f64", (5, 2))))
    changed = b.build()
    assert declared(changed, "g", "c") == tensor("f64", (5, 2))
    assert declared(changed, "k", "c") == tensor("f64", (2,))
    assert declared(changed, "f", "w") == tensor("f64", (2, 5), (1, 2)).with_(alias="z")


def test_a_change_that_a_function_does_not_take_is_rejected(infer: InferClient) -> None:
    program = text.parse(PROGRAM.replace("b = sin(a) c = mul(b, 2)", "c = nn.functional.pixel_shuffle(a, 1)").replace(
        "f32[3, 4]", "f32[1, 3, 4]").replace("def k(a: f32[4])", "def k(a: f32[3, 4])"), infer=infer)  # fmt: skip
    b = Builder(infer, None, program)
    b.set_input("x", replace(b.spec("x"), type=tensor("f32", (3, 4))))
    with pytest.raises(Rejected, match=r"^cond: "):
        b.build()


def test_functions_stand_before_the_operators_that_call_them(infer: InferClient) -> None:
    b = Builder(infer)
    f = b.function("f", [("x", tensor("f32", (3,)))])
    g = b.function("g", [("a", tensor("f32", (3,)))])
    g.returns(g.op("sin", (g.node("a"),)))
    f.returns(f.op("func.jacrev.of", (f.read("g"), f.node("x"))))
    b.add_input(InputSpec("x", tensor("f32", (3,))))
    b.add_call(Call("f", (Ref("x"),)))
    assert [f.name for f in b.build().functions] == ["g", "f"]


def test_what_cannot_be_an_operand() -> None:
    b = Builder(None)
    b.function("unready", [("a", tensor("f32", (3,)))])
    with pytest.raises(Rejected, match="unready is used as an operand before it is written"):
        code_of(b.functions, "unready")
    recursive = b.function("again", [("a", tensor("f32", (3,)))])
    node = recursive.op("call", (recursive.read("again"), recursive.node("a")))
    recursive.returns(node)
    with pytest.raises(Rejected, match="again calls itself"):
        code_of(b.functions, "again")
    source = b.function("verbatim", [("a", tensor("f32", (3,)))])
    source.returns(source.op("python", (source.node("a"),), source="v = a"))
    with pytest.raises(Rejected, match="has effects on Python state, or verbatim source"):
        code_of(b.functions, "verbatim")
    reads = b.function("reads", [])
    b.add_constant(InputSpec("w", tensor("f32", (3,))))
    reads.returns(reads.read("w"))
    with pytest.raises(Rejected, match="reads is an operand and reads w, which is no function"):
        code_of(b.functions, "reads")


def test_runnable_calls_inner_functions_and_notes_what_it_got() -> None:
    program = text.parse("""fuzzgraph 1
input x: f32[3]
def inner(a: f32[3]) { b: f32[3] = mul(a, 2) return (b, a) }
def outer(a: f32[3]) { t: (f32[3], f32[3]) = call(inner, a) b: f32[3] = getitem(t, 0) return {"r": b} }
def f(x) { y: any = call(outer, x) return y }
call f(x)
""")
    b = Builder(None, None, program)
    run = Runnable(code_of(b.functions, "outer"), lambda given: [tuple(t.shape) for t in given])
    assert run(torch.ones(3))["r"].tolist() == [2.0, 2.0, 2.0]
    assert run.called == [(3,)]
    with pytest.raises(TypeError, match="outer takes 1 operands, not 2"):
        run(torch.ones(3), torch.ones(3))


def test_functions_that_are_held_count_as_themselves(infer: InferClient) -> None:
    """An operand may call what holds a function without captures: an autograd.Function, a decorated one."""
    program = text.parse("""fuzzgraph 1
input x: f32[3]
def wave(a: f32[3]) { b: f32[3] = sin(a) return b }
def loss(a: f32[3]) { b: f32[3] = call(held, a) s: f32[] = sum(b) return s }
def f(x) { r = func.grad.of(loss, x) return r }
closure held = wave() as decorated("disable")
call f(x)
""", infer=infer)
    assert type_of(next(n for n in program.nodes() if n.name == "r")) == tensor("f32", (3,))


def test_only_operators_are_meant(infer: InferClient) -> None:
    program = text.parse(PROGRAM, infer=infer)
    assert called_by_operators(program.nodes()) == {"g", "h", "k"}
    called = text.parse("fuzzgraph 1 input x: f32[3] def g(a: f32[3]) { b: f32[3] = sin(a) return b } "
                        "def f(x) { y: f32[3] = call(g, x) return y } call f(x)")  # fmt: skip
    assert called_by_operators(called.nodes()) == set()


def test_has_code() -> None:
    assert has_code([1, {"a": (FunctionType(b"x"),)}])
    assert has_code(wire.pack_value((FunctionType(b"x"), 1)))
    assert not has_code([tensor("f32", (3,)), 1, {"a": "function"}])
    assert not has_code(wire.pack_value((tensor("f32", (3,)), "function")))


def test_applied_transforms() -> None:
    x = torch.arange(3.0)
    assert resolve("func.grad.of")(lambda a: (a * a).sum(), x).tolist() == [0.0, 2.0, 4.0]
    assert resolve("vmap.of")(lambda a: a + 1, x, in_dims=0).tolist() == [1.0, 2.0, 3.0]
