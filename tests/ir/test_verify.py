"""Each rule of the verifier, planted."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.fx as fx

from fuzzgraph.ir import text
from fuzzgraph.ir.program import Call, Closure, Context, Function, InputSpec, Program, Ref, Region, RunOptions, State
from fuzzgraph.ir.types import SequenceType, TensorType, tensor
from fuzzgraph.ir.values import Values
from fuzzgraph.ir.verify import tensors_returned, verify
from tests.ir.programs import FULL

GOOD = text.parse(FULL)
X = InputSpec("x", tensor("f32", (4,)), Values("normal"))


def spec_problems(*specs: InputSpec) -> list[str]:
    base = text.parse("fuzzgraph 1\ndef f() { return 1 }\ncall f()")
    return verify(replace(base, inputs=specs))


def graph_problems(make: Any, *regions: Region, check: Any = None) -> list[str]:
    graph = fx.Graph()
    x = graph.placeholder("x")
    x.meta["type"] = X.type
    graph.output(make(graph, x))
    calls = (Call("f", (Ref("x"),)),)
    return verify(Program(inputs=(X,), functions=(Function("f", graph, (), regions),), calls=calls), check)


def op(graph: fx.Graph, name: str, *args: Any, declared: Any = X.type) -> fx.Node:
    node = graph.call_function(torch.sin, args, name=name)
    node.meta.update(op="sin", type=declared)
    return node


def test_a_good_program_has_no_problem() -> None:
    assert verify(GOOD) == []
    assert verify(GOOD, lambda op, args, kwargs: None) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"type": replace(X.type, dtype="f8")}, "input x: unknown dtype f8"),
        ({"type": replace(X.type, stride=())}, "input x: shape (4,) and strides () do not make a tensor"),
        ({"type": replace(X.type, stride=(-1,))}, "input x: shape (4,) and strides (-1,) do not make a tensor"),
        ({"type": replace(X.type, offset=-1)}, "input x: shape (4,) and strides (1,) do not make a tensor"),
        ({"storage": 3}, "input x: storage 3 is smaller than the 4 elements it needs"),
        ({"values": Values("gauss")}, "input x: unknown value distribution 'gauss'; known: normal"),
        ({"values": Values("index")}, "input x: values 'index' do not fit dtype f32"),
        ({"values": Values("data")}, "input x: values data needs at least one element"),
        ({"values": Values("normal", (1, 2, 3))}, "input x: values 'normal' takes at most 2 parameters"),
        ({"type": tensor("i64", (4,)), "values": Values("index", (0,))}, "input x: values index needs n of at least 1"),
        ({"dynamic": (1,)}, "input x: dynamic dims (1,) of a tensor of rank 1"),
        ({"type": replace(tensor("i8", (4,)), requires_grad=True), "values": Values("ints")},
         "input x: dtype i8 cannot require grad"),
        ({"view_of": "y"}, "input x: view of y, which is no earlier input with storage of its own"),
    ],
)  # fmt: skip
def test_input_specs(change: dict[str, Any], problem: str) -> None:
    found = spec_problems(replace(X, **change))
    assert len(found) == 1 and found[0].startswith(problem), found


def test_views() -> None:
    y = InputSpec("y", TensorType("f32", (2,), (2,), 1), view_of="x")
    assert spec_problems(X, y) == []
    assert spec_problems(y, X) == ["input y: view of x, which is no earlier input with storage of its own"]
    wide, long = replace(y, type=tensor("f64", (2,))), replace(y, type=tensor("f32", (5,)))
    assert spec_problems(X, wide) == ["input y: dtype f64 differs from f32 of its base x"]
    assert spec_problems(X, long) == ["input y: reaches past the storage of its base x"]
    assert spec_problems(replace(X, storage=5), long) == []
    assert len(spec_problems(X, y, replace(y, name="z", view_of="y"))) == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"calls": ()}, "the program calls nothing"),
        ({"calls": (Call("nobody"),)}, "call of nobody: no such function"),
        ({"calls": (Call("plus"),)}, "call of plus: 0 arguments, 1 parameters"),
        ({"calls": (Call("plus", (Ref("q"),)),)}, "call of plus: no input q"),
        ({"calls": (Call("plus", ([Ref("q")],)),)}, "call of plus: no input q"),
        ({"calls": (Call("plus", (1,), (Context("dark"),)),)},
         "call of plus: unknown context dark with 0 arguments; known: no_grad, enable_grad, "),
        ({"calls": (Call("plus", (1,), (Context("autocast"),)),)},
         "call of plus: unknown context autocast with 0 arguments"),
        ({"calls": (Call("g", (1,)),)}, "call of g: it has captures, which only a closure binds"),
        ({"states": (*GOOD.states, State("q", "set"))}, "state q: unknown kind set, expected one of list"),
        ({"closures": (*GOOD.closures, Closure("q", "nobody"))}, "closure q: no function nobody"),
        ({"closures": (*GOOD.closures, Closure("q", "g", (("op", 1),)))},
         "closure q: binds other names than ('op', 'k')"),
        ({"closures": (*GOOD.closures, Closure("q", "g", (("op", Ref("nope")), ("k", 1))))},
         "closure q: nothing is called nope"),
        ({"options": RunOptions(fullgraph=1)}, "option fullgraph: 1 is not True or False"),  # type: ignore[arg-type]
        ({"options": RunOptions(expects_error=1)}, "option expects_error: 1 is not True or False"),  # type: ignore[arg-type]
        ({"options": RunOptions(dynamic=0)}, "option dynamic: 0 is not True, False or None"),  # type: ignore[arg-type]
        ({"options": RunOptions(autocast="half")}, "option autocast: 'half' is not a dtype"),
        ({"options": RunOptions(mode=1)}, "option mode: 1 is not a string"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_script_and_options(change: dict[str, Any], problem: str) -> None:
    found = verify(replace(GOOD, **change))
    assert len(found) == 1 and found[0].startswith(problem), found


def test_use_before_definition() -> None:
    def make(graph: fx.Graph, x: fx.Node) -> fx.Node:
        a = op(graph, "a", x)
        b = op(graph, "b", a)
        b.append(a)
        return b

    assert graph_problems(make) == ["f: b: uses a before it is made"]


def test_reads_of_nothing() -> None:
    found = graph_problems(lambda graph, x: graph.get_attr("w"))
    assert found == ["f: w: reads w, which is not outside (functions with captures are not)"]


def test_other_kinds_of_nodes() -> None:
    assert graph_problems(lambda graph, x: graph.call_method("sin", (x,))) == ["f: sin: node kind call_method"]


def test_untyped_calls() -> None:
    assert graph_problems(lambda graph, x: graph.call_function(torch.sin, (x,))) == [
        "f: sin: a call without operator or type"
    ]


def test_items_out_of_range() -> None:
    pair = SequenceType("tuple", (X.type, X.type))

    def make(graph: fx.Graph, x: fx.Node, index: int) -> fx.Node:
        node = op(graph, "b", op(graph, "a", x, declared=pair), index)
        node.meta["op"] = "getitem"
        return node

    assert graph_problems(lambda g, x: make(g, x, -2)) == []
    assert graph_problems(lambda g, x: make(g, x, 2)) == ["f: b: item 2 of 2"]


def test_the_grammar_judges_calls() -> None:
    asked: list[Any] = []

    def check(op: str, args: Any, kwargs: Any) -> str | None:
        asked.append((op, args, kwargs))
        return "never"

    assert graph_problems(lambda g, x: op(g, "a", x, 2), check=check) == ["f: a: sin: never"]
    assert asked == [("sin", (X.type.with_(alias="x"), 2), {})]


@pytest.mark.parametrize(
    ("regions", "problem"),
    [
        ([("a", "b")], None),
        ([("a", "c"), ("b", "b"), ("a", "b")], None),
        ([("b", "a")], "form no_grad: no contiguous range b..a"),
        ([("a", "q")], "form no_grad: no contiguous range a..q"),
        ([("a", "b"), ("b", "c")], "forms no_grad and no_grad overlap without nesting"),
    ],
)
def test_regions(regions: list[tuple[str, str]], problem: str | None) -> None:
    def make(graph: fx.Graph, x: fx.Node) -> fx.Node:
        return op(graph, "c", op(graph, "b", op(graph, "a", x)))

    found = graph_problems(make, *(Region("no_grad", *r) for r in regions))
    assert found == ([] if problem is None else [f"f: {problem}"])


def test_tensors_returned() -> None:
    assert len(tensors_returned(GOOD.function("f"))) == 5


def test_functions_with_captures_are_called_through_closures() -> None:
    g = GOOD.function("g")
    reads = replace(GOOD, closures=(*GOOD.closures, Closure("q", "g", (("op", Ref("g")), ("k", 1)))))
    assert g.captures and verify(reads) == ["closure q: nothing is called g"]


def test_getitem_takes_two() -> None:
    def make(graph: fx.Graph, x: fx.Node) -> fx.Node:
        node = op(graph, "a", x)
        node.meta["op"] = "getitem"
        return node

    assert graph_problems(make) == ["f: a: getitem takes a sequence and an index"]
