"""Inputs are what their specs say: dtype, shape, strides, offset, storage, and values of the distribution."""

import math
import subprocess
import sys
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzgraph.ir.builder import Builder
from fuzzgraph.ir.program import Call, InputSpec, Program, Ref
from fuzzgraph.ir.types import DTYPES, TensorType, tensor
from fuzzgraph.ir.values import INTEGER_RANGE, VALUE_KINDS, Values
from fuzzgraph.render import render
from fuzzgraph.render.edges import edge_values
from fuzzgraph.render.values import fitted
from tests.render.strategies import input_specs


def program(*specs: InputSpec) -> Program:
    """A program that returns its inputs."""
    b = Builder(None)
    for spec in specs:
        b.add_input(spec)
    f = b.function("f", [(s.name, s.type.with_(alias=s.view_of)) for s in specs])
    f.returns(tuple(f.node(s.name) for s in specs))
    b.add_call(Call("f", tuple(Ref(s.name) for s in specs)))
    return b.build()


def made(*specs: InputSpec) -> dict[str, torch.Tensor]:
    namespace: dict[str, Any] = {}
    exec(render(program(*specs)).source, namespace)
    inputs: dict[str, torch.Tensor] = namespace["make_inputs"]()
    return inputs


def one(kind: str, dtype: str, *params: Any, shape: tuple[int, ...] = (64,), seed: int = 0) -> torch.Tensor:
    return made(InputSpec("x", tensor(dtype, shape), Values(kind, params, seed)))["x"]


def bits(t: torch.Tensor) -> list[int]:
    """The bytes of a tensor's storage: NaN and -0.0 count."""
    return torch.empty(0, dtype=torch.uint8).set_(t.detach().untyped_storage()).tolist()


def assert_type(t: torch.Tensor, spec: InputSpec) -> None:
    want = spec.type
    assert (t.dtype, tuple(t.shape), t.stride()) == (want.torch_dtype, want.shape, want.stride)
    assert (t.storage_offset(), t.requires_grad, t.is_leaf) == (want.offset, want.requires_grad, True)
    assert t.untyped_storage().nbytes() // t.itemsize >= max(spec.storage or 0, want.extent)


@pytest.mark.parametrize("kind", sorted(VALUE_KINDS))
@settings(max_examples=60)
@given(data=st.data())
def test_types_match_the_spec(kind: str, data: Any) -> None:
    spec = data.draw(input_specs(kind))
    assert_type(made(spec)["x"], spec)


@settings(max_examples=60)
@given(spec=input_specs())
def test_made_anew_and_equal(spec: InputSpec) -> None:
    namespace: dict[str, Any] = {}
    exec(render(program(spec)).source, namespace)
    first, second = namespace["make_inputs"]()["x"], namespace["make_inputs"]()["x"]
    assert first is not second
    assert bits(first) == bits(second)
    if first.untyped_storage().nbytes():
        assert first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr()


def test_equal_in_another_process() -> None:
    kinds = {"normal": "f32", "edge": "bf16", "permutation": "i64", "uniform": "c64"}
    specs = [InputSpec(kind, tensor(dtype, (40,)), Values(kind, (), 3)) for kind, dtype in kinds.items()]
    show = "for t in make_inputs().values(): print(torch.tensor([]).byte().set_(t.untyped_storage()).tolist())"
    code = render(program(*specs)).source + show
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == [str(bits(t)) for t in made(*specs).values()]


def test_seeds_give_other_values() -> None:
    assert not torch.equal(one("normal", "f32"), one("normal", "f32", seed=1))


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_edge_values_are_all_there(dtype: str) -> None:
    found = one("edge", dtype, 1.0, shape=(4000,))
    wanted = torch.tensor(edge_values(dtype), dtype=DTYPES[dtype].torch_dtype)
    have, want = ({str(v) for v in t.tolist()} for t in (found, wanted))
    assert have == want


@pytest.mark.parametrize("dtype", ["c64", "c128"])
def test_products_of_complex_edge_values_are_finite(dtype: str) -> None:
    values = torch.tensor(edge_values(dtype), dtype=DTYPES[dtype].torch_dtype)
    assert (values[:, None] * values).isfinite().all() and (values.real.signbit() & (values.real == 0)).any()


@pytest.mark.parametrize("dtype", [d.name for d in DTYPES.values() if d.kind == "float"])
def test_edge_values_of_floats(dtype: str) -> None:
    info, values = torch.finfo(DTYPES[dtype].torch_dtype), edge_values(dtype)
    infinite = set() if dtype == "f8e4m3" else {math.inf, -math.inf}
    assert {info.max, info.min, info.tiny, info.eps, *infinite} <= set(values)
    assert any(math.isnan(v) for v in values)
    assert any(v == 0 and math.copysign(1, v) < 0 for v in values)
    kept = torch.tensor(values, dtype=DTYPES[dtype].torch_dtype).double()
    # Nothing but the infinities becomes one, and denormals stay: they would test nothing otherwise.
    assert kept.isinf().sum() == len(infinite)
    assert ((kept != 0) & (kept.abs() < info.tiny)).sum() >= 2


@pytest.mark.parametrize("dtype", sorted(INTEGER_RANGE))
def test_edge_values_of_integers(dtype: str) -> None:
    assert {0, 1, *INTEGER_RANGE[dtype]} <= set(edge_values(dtype))


def test_ordinary_values_beside_the_edges() -> None:
    assert one("edge", "f32", 0.0, shape=(1000,)).isfinite().all()
    assert one("edge", "i16", 0.0, shape=(1000,)).abs().max() <= 8


def test_values_of_each_kind() -> None:
    assert one("ints", "i8", -3, 3).unique().tolist() == [-3, -2, -1, 0, 1, 2, 3]
    assert one("ints", "u8", -3, 3).unique().tolist() == [0, 1, 2, 3]
    assert one("index", "i64", 4).unique().tolist() == [0, 1, 2, 3]
    assert one("permutation", "i64").sort()[0].tolist() == list(range(64))
    assert one("arange", "f32", 1, 0.5, shape=(2, 2)).tolist() == [[1.0, 1.5], [2.0, 2.5]]
    assert one("ties", "f32", 3).unique().tolist() == [-1.0, 0.0, 1.0]
    assert one("full", "i8", 1000.0, shape=()).item() == 127
    assert one("data", "i16", 1, 2, 3, shape=(2, 2)).tolist() == [[1, 2], [3, 1]]
    assert one("data", "i16", 1, 2, 3, shape=(100,)).tolist() == ([1, 2, 3] * 34)[:100]
    assert 0 < one("bools", "f16").sum() < 64
    low, high = one("uniform", "f64", -1.0, 1.0).aminmax()
    assert -1 <= low < high < 1


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (math.nan, "i8", 0), (math.inf, "i8", 127), (-math.inf, "u8", 0), (2**70, "i64", 2**63 - 1), (3, "bool", True),
        (2.7, "i32", 2), (1 + 2j, "f32", 1.0), (1 + 2j, "c64", 1 + 2j), (1e5, "f16", math.inf), (True, "f16", 1.0),
        (complex(1, -1e300), "c64", complex(1, -math.inf)),
    ],
)  # fmt: skip
def test_values_are_fitted_to_the_dtype(value: Any, dtype: str, expected: Any) -> None:
    found = fitted(value, dtype)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("base", [tensor("f32", (4, 4)), TensorType("f32", (4, 4), (1, 5), 2)])
def test_views_share_storage(base: TensorType, grad: bool) -> None:
    specs = [
        InputSpec("x", base.with_(requires_grad=grad), Values("normal")),
        InputSpec("y", TensorType("f32", (2,), (2,), 1), view_of="x"),
    ]
    inputs = made(*specs)
    for spec in specs:
        assert_type(inputs[spec.name], spec)
    assert inputs["x"].untyped_storage().data_ptr() == inputs["y"].untyped_storage().data_ptr()


def test_plain_inputs_are_no_views() -> None:
    """Dynamo and FakeTensor treat views otherwise, and users rarely pass them."""
    kinds = [k for k in VALUE_KINDS if k not in ("permutation", "index")]
    assert not any(one(k, "f32", *((1.0,) if k == "data" else ()), shape=(2, 3))._is_view() for k in kinds)
    assert not any(one(k, "i64", shape=(2, 3))._is_view() for k in ("permutation", "index", "arange"))
