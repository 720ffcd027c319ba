"""The fake oracle: what FakeTensors say against what is."""

import torch
from fakes import FakeTools, run

from fuzzgraph.harness.fake import fake_run
from fuzzgraph.harness.program import Loaded, identity, run_once
from fuzzgraph.ir.text import parse
from fuzzgraph.oracles import fake
from tests.generate.worlds import MetaInference, tiny_book

X = torch.arange(6.0).reshape(2, 3)


def kinds(real, on_fake):
    reference = run(real)
    found = fake.judge({}, reference, reference, FakeTools(reference, fake=on_fake))
    assert all(f.oracle == "fake" for f in found)
    return [f.kind for f in found]


def test_what_it_finds():
    assert kinds(X, run(X.double())) == ["dtype"]
    assert kinds(X, run(X[:1])) == ["shape"]
    assert kinds(X, run(X.t().contiguous().t())) == ["stride"]
    assert kinds(X, run(error=RuntimeError("no"))) == ["exception"]


def test_what_it_lets_pass():
    assert kinds(X, run(X + 1)) == []
    assert kinds(X, None) == []
    assert kinds(X, run(X.clone().requires_grad_())) == []


def source(body):
    return (
        "import torch\n"
        "W = torch.ones(3)\n"
        "def make_inputs():\n    base = torch.arange(8.0)\n    return {'x': base[:6], 'y': base[2:]}\n"
        f"def run(wrap, inputs):\n    x, y = inputs['x'], inputs['y']\n    return [{body}]\n"
    )


def test_a_real_program():
    loaded = Loaded.of(source("(x.reshape(2, 3).t() * 2, (x[:3] + W).sum(), y[1:])"), {})
    reference, faked = run_once(loaded, identity), fake_run(loaded)
    assert faked.error is None
    assert all(type(t).__name__ == "FakeTensor" for t in faked.results[0])
    assert fake.judge({}, reference, reference, FakeTools(reference, fake=faked)) == []


def test_values_that_decide_are_not_judged():
    assert fake_run(Loaded.of(source("x.nonzero()"), {})) is None
    assert fake_run(Loaded.of(source("x.sum().item() > 3"), {})) is None
    assert fake_run(Loaded.of(source("torch.from_numpy(x.numpy())"), {})) is None
    assert fake_run(Loaded.of(source("x.tolist()"), {})) is None


def test_forms_that_need_real_tensors_are_not_judged():
    text = 'fuzzgraph 1\ninput x: f32[4]\ndef f(x) {\n form %s {\n  a = relu(x)\n }\n return a\n}\ncall f(x)'
    book = tiny_book()
    plans = [fake.plan(parse(text % form, MetaInference(book), book.check), book)
             for form in ('numpy_round_trip("array")', 'tensor_subclass("disabled")', "try_finally")]  # fmt: skip
    assert plans == [None, None, {}]


def test_memory_stays_shared():
    faked = fake_run(Loaded.of(source("(x, y)"), {}))
    x, y = faked.results[0]
    assert x.untyped_storage()._cdata == y.untyped_storage()._cdata
    assert (x.storage_offset(), y.storage_offset()) == (0, 2)
