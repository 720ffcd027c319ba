"""The missed-error oracle."""

import pytest
import torch
from fakes import FakeTools, run

from fuzzgraph.execution.executor import Executor
from fuzzgraph.execution.protocol import Job
from fuzzgraph.oracles import missed_error


def kinds(eager, compiled):
    reference = run(error=eager)
    subject = run(torch.ones(1)) if compiled is None else run(error=compiled)
    return [f.kind for f in missed_error.judge({}, reference, subject, FakeTools(reference))]


def chained(outer, inner):
    outer.__cause__ = inner
    return outer


class Wrapped(RuntimeError):
    pass


class LoweringException(RuntimeError):
    """As torch._inductor.exc raises it: the lowering's own exception is in its text only."""


def test_an_error_that_does_not_come():
    assert kinds(IndexError("out of range"), None) == ["missed"]


def test_an_error_of_another_type():
    assert kinds(IndexError("out of range"), RuntimeError("bad")) == ["error_type"]


@pytest.mark.parametrize(
    "compiled",
    [
        IndexError("other words"),
        Wrapped("failed running f: got IndexError('out of range')"),
        chained(Wrapped("x"), IndexError("y")),
        chained(Wrapped("x"), LoweringException("IndexError: Dimension out of range\n  target: aten.sort.stable")),
    ],
)
def test_equal_types_however_wrapped(compiled):
    assert kinds(IndexError("out of range"), compiled) == []


def test_an_operator_that_refuses_fake_tensors_in_other_words():
    """A kernel of torch's says NotImplementedError where its decomposition says RuntimeError."""
    torch_runtime_error = type("TorchRuntimeError", (RuntimeError,), {})("got RuntimeError('no such dtype')")
    assert kinds(NotImplementedError("no kernel"), torch_runtime_error) == []
    assert kinds(IndexError("out of range"), torch_runtime_error) == ["error_type"]
    assert kinds(NotImplementedError("no kernel"), RuntimeError("bad")) == ["error_type"]


def test_a_lowering_that_raised_another_type():
    wrapped = chained(Wrapped("x"), LoweringException("AssertionError: no\n  target: aten.sort.stable"))
    assert kinds(IndexError("out of range"), wrapped) == ["error_type"]


def test_it_is_silent_where_eager_runs():
    one = run(torch.ones(1))
    assert missed_error.judge({}, one, run(error=RuntimeError("x")), FakeTools(one)) == []


SOURCE = """import torch
def make_inputs():
    return {"x": torch.arange(4.0), "i": torch.tensor([BAD])}
def f(x, i):
    return x.index_add(0, i, torch.ones(1)) + 1
def run(wrap, inputs):
    return [wrap(f)(inputs["x"], inputs["i"])]
"""


@pytest.mark.compiles
def test_real_runs():
    """Upstream's 185885: a negative index of index_add raises in eager only."""
    jobs = [
        Job("missed", SOURCE.replace("BAD", "-1"), expects_error=True),
        Job("unexpected", SOURCE.replace("BAD", "-1")),
        Job("valid", SOURCE.replace("BAD", "1"), expects_error=True),
        Job("both", SOURCE.replace("BAD", "1").replace("torch.ones(1)", "torch.ones(3)"), expects_error=True),
    ]
    with Executor() as executor:
        found = {o.id: o for o in executor.run(jobs)}
    assert [(f.oracle, f.kind) for f in found["missed"].failures] == [("missed_error", "missed")]
    assert found["unexpected"].status == "invalid"
    assert found["valid"].status == "ok"
    assert (found["both"].status, found["both"].failures) == ("invalid", ())
