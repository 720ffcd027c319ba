"""Patterns as data: trees of torch's expressions, calls of a function, and the file that keeps them."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from fuzzgraph.harness import forked, patterns


def test_a_tree_with_a_shared_node():
    from torch._inductor.pattern_matcher import MULTIPLE, Arg, CallFunction, KeywordArg, ListOf, MultiOutputPattern

    aten = torch.ops.aten
    shared = CallFunction(aten.mm.default, KeywordArg("x"), Arg(), _users=2)
    first = CallFunction(aten.cat, ListOf(shared), 1, _users=MULTIPLE)
    found = patterns.Tree().read(MultiOutputPattern([first, CallFunction(torch.relu, shared), None]))
    assert found == {
        "nodes": [
            {"ops": ["aten.mm"], "args": [{"any": "x"}, {"any": ""}], "kwargs": {}, "users": 2},
            {"ops": ["aten.cat"], "args": [{"each": {"node": 0}}, {"literal": 1}], "kwargs": {}, "users": None},
            {"ops": ["torch.relu"], "args": [{"node": 0}], "kwargs": {}, "users": 1},
        ],
        "outputs": [1, 2],
    }


def test_the_calls_of_a_function():
    with FakeTensorMode():
        x = torch.empty(2, 6)

    def search(x, scale):
        a, b = x.reshape(x.shape[1], 2).split(1, 1)
        return (a + b) * scale

    found = patterns.recorded(search, [x], {"scale": 0.5})
    assert [node.get("ops") for node in found["nodes"]] == [
        None, ["Tensor.reshape"], ["Tensor.split"], ["operator.getitem"], ["operator.getitem"], ["Tensor.add"],
        ["Tensor.mul"],
    ]  # fmt: skip
    assert found["nodes"][1]["args"] == [{"node": 0}, {"literal": 6}, {"literal": 2}]
    assert found["outputs"] == [6]


def test_they_are_made_once_for_each_torch(tmp_path, monkeypatch):
    made = []

    def call(function, limit):
        made.append(limit)
        return {"patterns": [{"name": "one"}]}

    file = tmp_path / "new" / "kept"
    monkeypatch.setattr(patterns, "cache_file", lambda: file)
    monkeypatch.setattr(forked, "call", call)
    assert [patterns.cached() for _ in range(3)] == [[{"name": "one"}]] * 3
    assert len(made) == 1 and [f.name for f in file.parent.iterdir()] == ["kept"]
    file.write_bytes(b"\xc1 no msgpack")
    assert patterns.cached() == [{"name": "one"}] and len(made) == 2


def test_a_fork_that_dies_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(patterns, "cache_file", lambda: tmp_path / "none")
    monkeypatch.setattr(forked, "call", lambda function, limit: "SIGSEGV")
    with pytest.raises(RuntimeError, match="SIGSEGV"):
        patterns.cached()
