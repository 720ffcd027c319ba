"""Recording FX graphs: types, storage sharing, modes, values; what cannot be recorded never disturbs the run."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx as fx

from fuzzgraph.errors import ProgramError
from fuzzgraph.harness.recording.graph import Recorder, specs
from fuzzgraph.harness.recording.values import observed
from fuzzgraph.ir.program import Ref
from fuzzgraph.ir.recorded import Recorded, pack, unpack
from fuzzgraph.ir.types import SequenceType, TensorType
from fuzzgraph.ir.values import Values


def recorded(function: Any, *inputs: Any) -> Recorded:
    return Recorder(fx.symbolic_trace(function), "here").record(*inputs)[1]


def test_types_strides_and_roots() -> None:
    found = recorded(lambda x: torch.split(x.t(), 1)[0] * 2, torch.randn(2, 3, requires_grad=True))
    turned, split, item, product = (n.type for n in found.nodes)
    assert turned == TensorType("f32", (3, 2), (1, 3), requires_grad=True, alias="x")
    assert isinstance(split, SequenceType) and {t.alias for t in split.items} == {"x"}  # type: ignore[union-attr]
    assert item.alias == "x" and product.alias is None  # type: ignore[union-attr]
    assert found.inputs[0].type.requires_grad


def test_the_result_is_what_the_graph_gives() -> None:
    x = torch.randn(3)
    result, found = Recorder(fx.symbolic_trace(lambda x: x.add_(1))).record(y := x.clone())
    assert result is y and torch.equal(y, x + 1)
    assert found.result == Ref("add_")


def test_numbers_that_follow_from_types_are_folded() -> None:
    found = recorded(lambda x, n: x.view(x.size(0) * n, -1), torch.randn(2, 4), 2)
    assert [(n.target, n.args[1:]) for n in found.nodes] == [("view", (4, -1))]
    data = recorded(lambda x: x * x.sum().item(), torch.randn(2))
    assert [n.target for n in data.nodes] == ["sum", "item", "_operator.mul"]


def test_modes_are_noted_and_what_switches_them_is_not() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch._C._set_grad_enabled, (False,))
    y = graph.call_method("neg", (x,))
    graph.call_function(torch._C._set_grad_enabled, (True,))
    graph.output(graph.call_method("abs", (y,)))
    found = Recorder(fx.GraphModule(torch.nn.Module(), graph)).record(torch.randn(2))[1]
    assert [(n.target, n.mode.grad) for n in found.nodes] == [("neg", False), ("abs", True)]


class Nested(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> Any:
        return self.inner(x)


@fx.wrap
def foreign(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@pytest.mark.parametrize(
    ("function", "inputs", "words"),
    [
        (Nested(), (torch.ones(2),), "calls the module inner"),
        (lambda x: foreign(x), (torch.ones(2),), "not torch's"),
        (lambda x: x.to_sparse(), (torch.ones(2, 2),), "sparse"),
        (lambda x: x + 1, (torch.ones(2).to(torch.float8_e5m2fnuz),), "float8"),
        (lambda x: x.normal_(generator=torch.Generator()), (torch.ones(2),), "Generator"),
    ],
)
def test_what_cannot_be_recorded_is_told(function: Any, inputs: Any, words: str) -> None:
    if words == "float8":
        recorder = Recorder(fx.symbolic_trace(lambda x: x.view(torch.uint8)))
        result, found = recorder.record(*inputs)
        assert result.dtype == torch.uint8
    else:
        _, found = Recorder(fx.symbolic_trace(function)).record(*inputs)
    assert found.refused is not None and words in found.refused


def test_inputs_that_share_storage() -> None:
    base = torch.arange(12.0)
    made = specs([("a", base[2:4]), ("b", base), ("c", torch.ones(2)), ("d", base.view(torch.int32))])
    assert [(s.name, s.view_of) for s in made] == [("b", None), ("a", "b"), ("c", None), ("d", None)]
    far = specs([("a", torch.arange(5000.0)[4100:4102])])[0]
    assert far.type.offset == 4100 % 64


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (torch.zeros(3), Values("full", (0.0,))),
        (torch.tensor([True, False]), Values("bools", (0.5,), 7)),
        (torch.arange(100), Values("arange", (0, 1))),
        (torch.tensor([3, 1, 4]), Values("data", (3, 1, 4))),
        (torch.tensor([5, 2] * 20), Values("index", (6,), 7)),
        (torch.tensor([5, -2] * 20), Values("ints", (-2, 5), 7)),
        (torch.arange(40).flip(0).roll(3), Values("permutation", (), 7)),
        (torch.tensor([0.0, 1.0, 0.5]), Values("uniform", (0.0, 1.0), 7)),
        (torch.tensor([-1.0, 1.0]), Values("normal", (0.0, 1.41), 7)),
        (torch.tensor([0.0, -torch.inf]), Values("data", (0.0, -torch.inf))),
        (torch.tensor([1j, 2]), Values("normal", (), 7)),
        (torch.empty(0), Values("normal", (), 7)),
        (torch.empty(0, dtype=torch.bool), Values("bools", (), 7)),
    ],
)
def test_values_come_near(tensor: torch.Tensor, expected: Values) -> None:
    assert observed(tensor, 7) == expected


def test_damaged_recordings() -> None:
    whole = pack(Recorded("here"))
    assert unpack(whole) == Recorded("here")
    for data in (whole[:-1], b"", b"\x01", pack(Recorded("here")).replace(b"\x01", b"\x63", 1)):
        with pytest.raises(ProgramError):
            unpack(data)
