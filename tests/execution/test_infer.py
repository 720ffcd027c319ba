"""Type inference in its own process."""

import os
import signal

import pytest

from fuzzgraph.execution.infer import InferClient
from fuzzgraph.ir.types import AnyType, NoneType, ScalarType, SequenceType, TensorType, UnsizedType, tensor
from fuzzgraph.ir.values import Values

X = tensor("f32", (3, 4))


@pytest.fixture(scope="module")
def client():
    with InferClient() as running:
        yield running


def test_promotion_and_broadcasting(client):
    assert client.infer("add", (X, tensor("i16", (4,))), {}).type == X


def test_errors_are_answers(client):
    found = client.infer("mm", (X, X), {})
    assert found.type is None and found.error.startswith("RuntimeError: ") and "\n" not in found.error
    assert "no_such" in client.infer("no_such", (X,), {}).error
    assert client.infer("relu", (AnyType(),), {}).error == "TypeError: an operand is opaque"


@pytest.mark.parametrize("mode", ["fake", "eager"])
def test_views_say_whose_storage_they_share(client, mode):
    odd = TensorType("f32", (3, 4), (1, 3), offset=2)
    found = client.infer("Tensor.t", (odd,), {}, mode=mode)
    assert found.type == TensorType("f32", (4, 3), (3, 1), offset=2) and found.alias_of == (0,)
    assert client.infer("cat", ([X, X],), {}, mode=mode).alias_of == (None,)
    parts = client.infer("split", (odd, 2), {}, mode=mode)
    assert isinstance(parts.type, SequenceType) and len(parts.type.items) == 2 and parts.alias_of == (0, 0)
    assert client.infer("Tensor.add_", (X, tensor("f32", (4,))), {}, mode=mode).alias_of == (0,)
    assert client.infer("add", (X, X), {"out": X}, mode=mode).alias_of == (2,)


def test_operands_that_need_grad_are_no_leaves(client):
    need = X.with_(requires_grad=True)
    found = client.infer("Tensor.add_", (need, 1), {})
    assert found.error is None and found.type.requires_grad


@pytest.mark.parametrize("mode", ["fake", "eager"])
@pytest.mark.parametrize("shape", [(), (4,), (1,), (3, 4), (2, 1, 3), (0,), (2, 0, 3)])
def test_operands_that_share_memory_with_none_are_no_views(client, mode, shape):
    """Eager refuses to detach a view in place."""
    plain = tensor("f32", shape)
    found = client.infer("Tensor.detach_", (plain.with_(requires_grad=True),), {}, mode=mode)
    assert found.error is None and found.type == plain and found.alias_of == (0,)
    part = tensor("f32", (2, 3)).with_(stride=(6, 2), requires_grad=True)
    assert "Can't detach views" in str(client.infer("Tensor.detach_", (part,), {}, mode=mode).error)


def test_operands_of_one_root_share_a_storage(client):
    a, b = TensorType("f32", (4,), (1,), 0, alias="r"), TensorType("f32", (4,), (1,), 4, alias="r")
    assert client.infer("Tensor.view_as", (b, a), {}).alias_of == (0,)


def test_scalars_sequences_and_none(client):
    assert client.infer("add", (X, ScalarType("float")), {}).type == X
    assert client.infer("sum", (X, NoneType()), {}).type == tensor("f32", ())
    assert client.infer("cat", (SequenceType("list", (X, X)),), {}).type == tensor("f32", (6, 4))
    assert client.infer("Tensor.dim", (X,), {}).type == ScalarType("int", 2)


def test_results_that_depend_on_values(client):
    ints = tensor("i64", (4,))
    assert client.infer("nonzero", (ints,), {}).type == UnsizedType("i64", (None, 1))
    ones = client.infer("nonzero", (ints,), {}, mode="eager", values={0: Values("full", (1,))})
    none = client.infer("nonzero", (ints,), {}, mode="eager", values={0: Values("full", (0,))})
    assert (ones.type.shape, none.type.shape) == ((4, 1), (0, 1))


def test_answers_are_kept(client):
    client.infer("sin", (X.with_(alias="a"),), {})
    before = client.requests
    client.infer("sin", (X.with_(alias="b"),), {})
    assert client.requests == before


def test_many_at_once(client):
    calls = [("cos", (tensor("f32", (n,)),), {}) for n in range(5)] + [("mm", (X, X), {})]
    found = client.infer_many(calls)
    assert [f.type and f.type.shape for f in found] == [(0,), (1,), (2,), (3,), (4,), None]


@pytest.mark.once
def test_a_dead_or_hanging_process_is_replaced():
    with InferClient(timeout=1.0) as client:
        assert client.infer("sin", (X,), {}).type == X
        os.kill(client._process.pid, signal.SIGSTOP)
        assert client.infer("tan", (X,), {}).error == "Timeout: no answer in 1 s"
        assert client.infer("cosh", (X,), {}).type == X
        os.kill(client._process.pid, signal.SIGKILL)
        assert client.infer("tanh", (X,), {}).error.startswith("Died: ")
        assert client.infer("erf", (X,), {}).type == X
        assert client.restarts == 2 and client.cpu > 0
