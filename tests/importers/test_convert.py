"""Recorded graphs become exact programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from fuzzgraph.execution.infer import InferClient
from fuzzgraph.grammar import load_rules
from fuzzgraph.importers.convert import Converter, Refused, agree, short
from fuzzgraph.ir import text
from fuzzgraph.ir.program import InputSpec, Ref
from fuzzgraph.ir.recorded import Mode, Recorded, RecordedNode
from fuzzgraph.ir.types import AnyType, NoneType, ScalarType, SequenceType, tensor
from tests.importers.worlds import record


@pytest.fixture(scope="module")
def converter() -> Iterator[Converter]:
    with InferClient(timeout=60.0) as infer:
        yield Converter(load_rules(), infer)


def body(converter: Converter, function: Callable[..., Any], *inputs: Any) -> list[str]:
    """The program's lines from its function on; it is verified and round-trips."""
    program = converter.convert(record(function, *inputs)).program
    written = text.format(program)
    assert text.parse(written) == program
    return written[written.index("def ") :].splitlines()[1:-2]


def test_functions_methods_operators(converter: Converter) -> None:
    def f(x: torch.Tensor) -> Any:
        return torch.nn.functional.gelu(x).view(3, -1) + 1

    assert body(converter, f, torch.randn(2, 3)) == [
        "  gelu: f32[2, 3] = nn.functional.gelu(x)",
        "  view: f32[3, 2] &gelu = Tensor.view(gelu, (3, -1)) as method",
        "  add: f32[3, 2] = add(view, 1) as operator",
        "  return add",
    ]


def test_sizes_become_numbers(converter: Converter) -> None:
    def f(x: torch.Tensor) -> Any:
        return x.reshape(x.size(0) * 2, -1) * x.shape[1]

    assert body(converter, f, torch.randn(2, 4)) == [
        "  reshape: f32[4, 2] &x = reshape(x, (4, -1)) as method",
        "  mul_1: f32[4, 2] = mul(reshape, 4) as operator",
        "  return mul_1",
    ]


def test_items_of_tuples_and_of_tensors(converter: Converter) -> None:
    def f(x: torch.Tensor) -> Any:
        a, b = torch.split(x, [1, 3], 1)[0], x[:, 1:]
        return a, b

    lines = body(converter, f, torch.randn(2, 4))
    assert lines[1] == "  getitem: f32[2, 1][4, 1] &x = getitem(split, 0)"
    assert lines[2].endswith("= Tensor.__getitem__(x, (slice(None, None, None), slice(1, None, None))) as subscript")
    assert lines[3] == "  return (getitem, getitem_1)"


def test_what_the_grammar_does_not_know_is_verbatim(converter: Converter) -> None:
    def f(x: torch.Tensor) -> Any:
        return torch.ops.aten.slice.Tensor(x, 0, 1, 3)

    made = converter.convert(record(f, torch.randn(4)))
    assert made.python == {"torch.ops.aten.slice.Tensor": 1}
    line = '  slice_tensor: f32[2]+1 &x = python(x) """slice_tensor = torch.ops.aten.slice.Tensor(x, 0, 1, 3)"""'
    assert line in text.format(made.program).splitlines()


def test_an_item_that_is_data_stays_a_call(converter: Converter) -> None:
    def f(x: torch.Tensor) -> Any:
        return x * x.sum().item()

    made = converter.convert(record(f, torch.randn(3)))
    assert "item" in text.format(made.program)


def test_names_that_python_has_are_left_to_it(converter: Converter) -> None:
    lines = body(converter, lambda x: torch.sum(x, 0), torch.randn(3, 2))
    assert lines[0].startswith("  sum_1: f32[2] = sum(x, 0)")


QUIET = Mode(grad=False, autocast="bf16")


def node(name: str, target: str, *args: Any, kind: Any = AnyType(), mode: Mode = Mode()) -> RecordedNode:  # noqa: B008
    return RecordedNode(name, target, False, tuple(Ref(a) if isinstance(a, str) else a for a in args), {}, kind, mode)


def test_modes_become_forms_and_contexts(converter: Converter) -> None:
    x = tensor("f32", (2, 2))
    quiet = Mode(grad=False)
    nodes = (
        node("a", "torch.neg", "x", kind=x),
        node("b", "torch.abs", "a", kind=x, mode=quiet),
        node("c", "torch.mm", "b", "b", kind=x.with_(dtype="bf16"), mode=Mode(False, "bf16")),
        node("d", "torch.neg", "c", kind=x.with_(dtype="bf16")),
    )
    lines = text.format(converter.convert(Recorded("", (InputSpec("x", x),), nodes, Ref("d"))).program).splitlines()
    assert [line.strip() for line in lines if "form" in line] == [
        "form no_grad {", "form no_grad {", "form autocast(torch.bfloat16) {",
    ]  # fmt: skip
    inside = Recorded("", (InputSpec("x", x),), (node("a", "torch.neg", "x", kind=x, mode=QUIET),), Ref("a"), QUIET)
    assert text.format(converter.convert(inside).program).splitlines()[-1] == 'call f(x) with no_grad, autocast("bf16")'


def test_shared_inputs_are_views(converter: Converter) -> None:
    base = torch.randn(6)
    made = converter.convert(record(lambda a, b: b[4:] + a, base[:2], base)).program
    # The storage is an input of its own, which the second operand is, too.
    assert [(s.name, s.view_of) for s in made.inputs] == [("x", None), ("a", "x")]


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        (Recorded("", refused="it is odd"), "it is odd"),
        (Recorded(""), "no operators"),
        (Recorded("", nodes=(node("a", "os.getcwd"),)), "os.getcwd"),
        (Recorded("", nodes=(node("a", "torch.unheard_of", 4.0),)), "torch.unheard_of, which this torch does not have"),
    ],
)
def test_what_is_refused(converter: Converter, recorded: Recorded, words: str) -> None:
    with pytest.raises(Refused, match=words):
        converter.convert(recorded)


def test_short_names() -> None:
    assert short("l_self_modules_layers_modules_0_modules_linear1_parameters_weight_") == "linear1_weight"
    assert short("L_x_") == "x"
    assert short("l_args_0_") == "x"
    assert short("p_c_weight") == "c_weight"


def test_agreement_of_types() -> None:
    x = tensor("f32", (2,))
    half = x.with_(dtype="f16")
    assert agree(x, x.with_(stride=(2,))) and not agree(x, half) and agree(x, half, exact=False)
    assert not agree(x, tensor("f32", (3,))) and not agree(x, NoneType())
    assert agree(SequenceType("list", (x,)), SequenceType("tuple", (x,)))
    assert not agree(SequenceType("list", (x,)), SequenceType("list", (x, x)))
    assert agree(ScalarType("int"), ScalarType("int")) and not agree(ScalarType("int"), ScalarType("float"))
    assert agree(x, AnyType())
