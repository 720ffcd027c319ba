"""Rules for recorded calls: by identity, by name, by Python's syntax; arguments by the signatures' names."""

from __future__ import annotations

import pytest
import torch

from fuzzgraph.grammar import RuleBook, load_rules
from fuzzgraph.importers.targets import Targets, dunder, forms, function_of, syntax_called
from fuzzgraph.ir.recorded import RecordedNode
from fuzzgraph.ir.types import tensor

X = tensor("f32", (2, 3))


@pytest.fixture(scope="module")
def book() -> RuleBook:
    return load_rules()


@pytest.fixture(scope="module")
def targets(book: RuleBook) -> Targets:
    return Targets(book)


@pytest.mark.parametrize(
    ("target", "method", "args", "op", "spelling"),
    [
        ("torch.add", False, (X, X), "add", None),
        ("torch._C._nn.gelu", False, (X,), "nn.functional.gelu", None),
        ("add_", True, (X, X), "Tensor.add_", "method"),
        ("relu", True, (X,), "nn.functional.relu", "method"),
        ("view", True, (X, 3, 2), "Tensor.view", "method"),
        ("_operator.add", False, (X, X), "add", "operator"),
        ("_operator.matmul", False, (X, X), "matmul", "operator"),
        ("_operator.iadd", False, (X, 1), "Tensor.add_", "augmented"),
        ("_operator.getitem", False, (X, 0), "Tensor.__getitem__", "subscript"),
        ("_operator.setitem", False, (X, 0, X), "Tensor.__setitem__", "assign"),
        ("torch.ops.aten.add.Tensor", False, (X, X), "add", None),
        ("torch.ops.aten.add_.Tensor", False, (X, X), "Tensor.add_", None),
        ("torch.ops.aten.linear.default", False, (X, X), "nn.functional.linear", None),
    ],
)
def test_finds_the_rule(
    targets: Targets, target: str, method: bool, args: tuple[object, ...], op: str, spelling: str | None
) -> None:
    found = targets.candidates(RecordedNode("v", target, method, args))
    assert (op, spelling) in [(c.rule.op, c.spelling) for c in found]


@pytest.mark.parametrize("target", ["torch._C._nn.unheard_of", "torch.ops.mine.add.default", "_operator.contains"])
def test_finds_none(targets: Targets, target: str) -> None:
    found = targets.candidates(RecordedNode("v", target, False, (X,)))
    assert all(c.rule.op == "add" for c in found)  # the dispatcher's namespaces share names; types decide
    assert target.endswith("add.default") or not found


def test_what_a_template_calls() -> None:
    assert syntax_called("{0} + {1}") == "__add__"
    assert syntax_called("-{0}") == "__neg__"
    assert syntax_called("{0} //= {1}") == "__ifloordiv__"
    assert syntax_called("{0}[{1}] = {2}") == "__setitem__"
    assert syntax_called("{0}.T") == ""


def test_special_methods() -> None:
    assert dunder(RecordedNode("v", "_operator.and_")) == "__and__"
    assert dunder(RecordedNode("v", "__add__", method=True)) == "__add__"
    assert dunder(RecordedNode("v", "add", method=True)) is None
    assert dunder(RecordedNode("v", "torch.add")) is None
    assert dunder(RecordedNode("v", "_operator.unheard_of")) is None


def accepted(book: RuleBook, op: str, node: RecordedNode) -> list[tuple[object, object]]:
    rule = book.rules[op]
    return [form for form in forms(rule, node, node.args, node.kwargs) if rule.check(*form) is None]


def test_numbers_are_gathered(book: RuleBook) -> None:
    assert accepted(book, "Tensor.view", RecordedNode("v", "view", True, (X, 3, 2)))[0] == ((X, (3, 2)), {})


def test_arguments_by_the_dispatchers_names(book: RuleBook) -> None:
    indices = tensor("i64", (4,))
    node = RecordedNode("v", "torch.ops.aten.embedding.default", False, (X, indices))
    assert accepted(book, "nn.functional.embedding", node)[0] == ((indices, X), {})


def test_defaults_and_hints_are_left_out(book: RuleBook) -> None:
    weight = tensor("f32", (3,))
    node = RecordedNode("v", "torch.ops.aten.layer_norm.default", False, (X, [3], weight, weight, 1e-5, False))
    assert accepted(book, "nn.functional.layer_norm", node)[0][0][:2] == (X, [3])
    here = {"device": torch.device("cpu"), "pin_memory": False}
    on = RecordedNode("v", "torch.arange", False, (0, 5), {**here, "dtype": torch.int64})
    assert accepted(book, "arange", on)[0] == ((0, 5), {"dtype": torch.int64})


def test_in_place_by_argument_or_by_name(book: RuleBook, targets: Targets) -> None:
    node = RecordedNode("v", "torch.nn.functional.relu", False, (X,), {"inplace": True})
    assert "Tensor.relu_" in [c.rule.op for c in targets.candidates(node)]
    assert accepted(book, "Tensor.relu_", node)[0] == ((X,), {})
    assert accepted(book, "nn.functional.relu", node) == []
    plain = RecordedNode("v", "torch.nn.functional.relu", False, (X,), {"inplace": False})
    assert ((X,), {}) in accepted(book, "nn.functional.relu", plain)


def test_what_is_no_default_is_not_left_out(book: RuleBook) -> None:
    node = RecordedNode("v", "torch.nn.functional.relu", False, (X,), {"unheard_of": True})
    assert accepted(book, "nn.functional.relu", node) == []


def test_functions_by_path() -> None:
    assert function_of("torch._C._nn.gelu") is torch.nn.functional.gelu
    assert function_of("torch.ops.aten.add.Tensor") is torch.ops.aten.add.Tensor
    assert function_of("torch.unheard_of") is None
    assert function_of("os.system") is None
