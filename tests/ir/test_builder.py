"""The one maker of programs."""

from typing import Any

import pytest

from fuzzgraph.errors import ProgramError
from fuzzgraph.ir import text
from fuzzgraph.ir.builder import Builder, FunctionBuilder, Rejected
from fuzzgraph.ir.program import Call, InputSpec, Ref, Region, type_of
from fuzzgraph.ir.retype import retype
from fuzzgraph.ir.types import AnyType, ScalarType, TensorType, tensor
from fuzzgraph.ir.values import Values
from tests.ir.programs import FULL, ByName

X = InputSpec("x", tensor("f32", (4,)), Values("normal"))


def chain(infer: Any = None, check: Any = None) -> tuple[Builder, FunctionBuilder]:
    """f(x): a = sin(x); b = cos(a); c = exp(b); return c"""
    b = Builder(infer or ByName(), check)
    b.add_input(X)
    f = b.function("f", [("x", X.type)])
    last = f.node("x")
    for name, op in (("a", "sin"), ("b", "cos"), ("c", "exp")):
        last = f.op(op, (last,), name=name)
    f.returns(last)
    b.add_call(Call("f", (Ref("x"),)))
    return b, f


def body(b: Builder) -> str:
    """The text of f's statements."""
    return text.format(b.build()).partition("def f(x) {\n  ")[2].partition("\n}")[0].replace("\n  ", "; ")


def test_builds_what_the_text_says() -> None:
    b, _ = chain()
    assert body(b) == "a: f32[4] = sin(x); b: f32[4] = cos(a); c: f32[4] = exp(b); return c"


def test_the_base_is_never_touched() -> None:
    base = text.parse(FULL)
    before = text.format(base)
    b = Builder(ByName(), base=base)
    f = b.functions["f"]
    assert b.build() == base
    f.op("sin", (f.node("y"),))
    f.set_call(f.node("m"), "cos", (f.node("h"),), {})
    f.replace_uses(f.node("a"), f.node("x"))
    b.set_options(dynamic=False)
    b.set_input("x", X)
    assert text.format(base) == before


def test_fresh_names() -> None:
    b, f = chain()
    first = f.op("sin", (f.node("x"),))
    second = f.op("sin", (f.node("x"),))
    assert (first.name, second.name, b.fresh_name("x"), b.fresh_name("f")) == ("v0", "v1", "x0", "f0")


def test_insert_before_and_prune() -> None:
    b, f = chain()
    f.op("abs", (f.node("a"),), name="d", before=f.node("b"))
    assert body(b).startswith("a: f32[4] = sin(x); d: f32[4] = abs(a); b: f32[4] = cos(a)")
    f.prune()
    assert "d" not in f.names
    f.op("Tensor.add_", (f.node("a"), 1), name="e")
    f.op("state.read", (f.node("a"),), name="s")
    f.op("sin", (f.node("a"),), {"out": f.node("b")}, name="o", type=X.type)
    f.prune()
    assert {"e", "s", "o"} <= f.names


def test_erase() -> None:
    b, f = chain()
    with pytest.raises(Rejected, match="a still has users"):
        f.erase(f.node("a"))
    with pytest.raises(Rejected, match="c still has users"):
        f.erase(f.node("c"))
    f.returns(f.node("b"))
    f.erase(f.node("c"))
    assert body(b) == "a: f32[4] = sin(x); b: f32[4] = cos(a); return b"
    f.op("exp", (f.node("b"),), name="c")
    assert "c" in f.names


def test_captures_stay() -> None:
    b = Builder(None)
    f = b.function("f", [], [("k", AnyType())])
    with pytest.raises(Rejected, match="k is a capture"):
        f.erase(f.node("k"))


def test_replace_uses() -> None:
    b, f = chain()
    f.replace_uses(f.node("a"), f.node("x"))
    f.replace_uses(f.node("c"), 7)
    assert body(b) == "a: f32[4] = sin(x); b: f32[4] = cos(x); c: f32[4] = exp(b); return 7"
    b, f = chain()
    made = f.op("neg", (f.node("a"),), name="n", before=f.node("b"))
    f.replace_uses(f.node("a"), made, keep=[made])
    assert body(b).startswith("a: f32[4] = sin(x); n: f32[4] = neg(a); b: f32[4] = cos(n)")


def test_uses_before_the_definition_are_refused() -> None:
    b, f = chain()
    f.replace_uses(f.node("x"), f.node("c"))
    with pytest.raises(Rejected, match="f: a uses c before it is made"):
        b.build()


def test_set_call() -> None:
    b, f = chain()
    f.set_call(f.node("b"), "mul", (f.node("a"), 2), {}, "operator")
    assert body(b) == "a: f32[4] = sin(x); b: f32[4] = mul(a, 2) as operator; c: f32[4] = exp(b); return c"
    f.set_call(f.node("b"), "neg", (f.node("a"),), {})
    assert body(b) == "a: f32[4] = sin(x); b: f32[4] = neg(a); c: f32[4] = exp(b); return c"


@pytest.mark.parametrize(
    ("first", "last", "gone", "left"),
    [
        ("a", "b", ["c"], [("a", "b")]), ("a", "c", ["c"], [("a", "b")]), ("b", "c", ["c", "b"], []),
        ("c", "c", ["c"], []), ("b", "c", ["c"], [("b", "b")]),
    ],
)  # fmt: skip
def test_regions_shrink(first: str, last: str, gone: list[str], left: list[tuple[str, str]]) -> None:
    b, f = chain()
    f.regions.append(Region("no_grad", first, last))
    for name in gone:
        f.returns(f.node("x"))
        f.erase(f.node(name))
    assert [(r.first, r.last) for r in b.build().functions[0].regions] == left


def test_regions_are_ordered() -> None:
    b, f = chain()
    f.regions += [Region("p", "c", "c"), Region("q", "a", "a"), Region("r", "a", "b"), Region("s", "a", "b")]
    assert [r.form for r in b.build().functions[0].regions] == ["r", "s", "q", "p"]


@pytest.mark.parametrize("name", ["inf", "nan", "torch", "run", "make_inputs", "None", "def", "len", "a b", "1a", "é"])
def test_reserved_names(name: str) -> None:
    b, f = chain()
    with pytest.raises(ProgramError, match=r"reserved|not a usable name"):
        f.op("sin", (f.node("x"),), name=name)
    with pytest.raises(ProgramError, match=r"reserved|not a usable name"):
        b.add_input(InputSpec(name, X.type))
    assert b.build() == chain()[0].build()


def test_names_are_used_once() -> None:
    b, f = chain()
    with pytest.raises(ProgramError, match="the name 'a' is used twice in f"):
        f.op("sin", (f.node("x"),), name="a")
    for add in (lambda: b.add_constant(X), lambda: b.function("x"), lambda: b.add_input(InputSpec("f", X.type))):
        with pytest.raises(ProgramError, match="is used twice"):
            add()


def test_nodes_of_other_functions_are_refused() -> None:
    b, f = chain()
    other = chain()[1]
    for use in (
        lambda: f.op("sin", (other.node("a"),)),
        lambda: f.replace_uses(f.node("a"), other.node("x")),
        lambda: f.set_call(f.node("a"), "sin", (other.node("x"),), {}),
    ):
        with pytest.raises(ProgramError, match="belongs to another function"):
            use()
    assert b.build() == chain()[0].build()


def test_what_is_refused_leaves_no_trace() -> None:
    b, f = chain(ByName(refused=("tan",)), lambda op, args, kwargs: "no" if op == "sqrt" else None)
    before = b.build()
    for op in ("tan", "sqrt"):
        with pytest.raises(Rejected):
            f.op(op, (f.node("x"),))
        with pytest.raises(Rejected):
            f.set_call(f.node("a"), op, (f.node("x"),), {})
    assert b.build() == before


def test_reads_come_in_order_of_first_use() -> None:
    b, f = chain()
    for name in ("p", "q", "r"):
        b.add_constant(InputSpec(name, tensor("f32", (4,)), Values("normal")))
    unused, q, p = f.read("r"), f.read("q"), f.read("p")
    assert f.read("q") is q and unused.users == {}
    f.op("add", (p, q), name="d")
    graph = b.build().functions[0].graph
    assert [n.name for n in graph.nodes if n.op == "get_attr"] == ["p", "q"]


def test_aliases_name_the_root() -> None:
    _, f = chain(ByName(views=("transpose", "split")))
    v = f.op("transpose", (f.node("x"), 0, 0), name="v")
    w = f.op("transpose", (v, 0, 0), name="w")
    fresh = f.op("sin", (w,))
    assert [type_of(n).alias for n in (v, w, fresh)] == ["x", "x", None]  # type: ignore[union-attr]


def test_types_follow_inputs() -> None:
    b, _ = chain()
    b.set_input("x", InputSpec("x", tensor("f64", (2, 3)), Values("normal")))
    assert b.stale
    assert "b: f64[2, 3] = cos(a)" in text.format(b.build())
    b, _ = chain()
    b.infer.refused = ("cos",)  # type: ignore[union-attr]
    b.set_input("x", InputSpec("x", tensor("f64", (2, 3)), Values("normal")))
    with pytest.raises(Rejected, match="cos: RuntimeError: no cos today"):
        b.build()


def test_retype_follows_the_script() -> None:
    b, f = chain()
    b.calls[:] = [Call("f", (2.0,))]
    f.set_call(f.node("a"), "add", (f.node("x"), 1), {})
    f.node("a").meta["type"] = X.type
    with pytest.raises(StopIteration):  # the stub knows tensors only
        retype(b)
    assert type_of(f.node("x")) == ScalarType("float", 2.0)


def test_opaque_operands_give_opaque_results() -> None:
    b = Builder(ByName())
    f = b.function("f", [("x", AnyType())])
    assert type_of(f.op("sin", (f.node("x"),))) == AnyType()
    assert type_of(f.op("state.append", (f.node("x"), 1))) == AnyType()


def test_items() -> None:
    b = Builder(None)
    f = b.function("f", [("x", X.type)])
    pair = text.parse(FULL).function("f").body[5].meta["type"]
    k = f.op("max", (f.node("x"), 0), type=pair, name="k")
    assert type_of(f.op("getitem", (k, 1))) == pair.items[1].with_(alias="k")
    for index in (2, -3):
        with pytest.raises(Rejected, match=f"getitem: index {index} of 2 items"):
            f.op("getitem", (k, index))
    with pytest.raises(Rejected, match="takes an item of a tuple or list"):
        f.op("getitem", (f.node("x"), 0))


def test_calls_between_functions_are_typed() -> None:
    b, _ = chain()
    g = b.function("g", [("x", X.type)])
    call = g.op("call", (g.read("f"), g.node("x")))
    assert type_of(call) == TensorType("f32", (4,), (1,))
    assert type_of(g.op("call", (g.node("x"),))) == AnyType()


def test_a_function_without_result_is_refused() -> None:
    b, _ = chain()
    b.function("g")
    with pytest.raises(Rejected, match="g returns nothing"):
        b.build()
