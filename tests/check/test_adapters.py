"""What the adapters do with a file, in this process and without a compiler."""

from textwrap import dedent

import pytest
import torch

from fuzzgraph.check.source import read
from fuzzgraph.harness.program import Loaded, OptionError, identity, run_once


def run(text, wrap=identity, path="/nowhere/case.py"):
    checked = read("import torch\n" + dedent(text), path)
    return run_once(Loaded.of(checked.source, checked.job("", "inductor", 1.0).options), wrap)


def done(text, wrap=identity):
    found = run(text, wrap)
    if found.error is not None:
        raise found.error
    return found


def test_a_function_is_called_twice_with_equal_inputs():
    found = done("""
        def make_inputs(): return (torch.rand(3), {"k": [torch.rand(2), 5]})
        def f(a, b): return a + torch.rand(3), b["k"][1]
    """)
    assert list(found.inputs) == [
        f"call {i} argument {p}" for i in (0, 1) for p in ("[0]", "[1]['k'][0]")
    ]  # fmt: skip
    (a, n), (b, _) = found.results
    assert torch.equal(a, b) and n == 5 and found.gradients == {} and found.began


def test_one_argument_needs_no_tuple_and_calls_may_be_counted():
    found = done("CALLS = 1\ndef make_inputs(): return [torch.ones(2), torch.ones(3)]\ndef f(x): return len(x)\n")
    assert found.results == [2]


def test_successive_calls_of_one_object():
    found = done("""
        def make_inputs_seq(): return [(torch.ones(2),), (torch.ones(5),), torch.ones(1)]
        def make_fn():
            seen = []
            def g(x):
                seen.append(len(x))
                return list(seen)
            return g
    """)
    assert found.results == [[2], [2, 5], [2, 5, 1]]
    assert found.states["closure"] == {"seen": [2, 5, 1]}


def test_gradients_of_arguments_and_parameters():
    text = """
        BACKWARD = True
        CALLS = 1
        def make_fn():
            m = torch.nn.Linear(2, 1, bias=False)
            m.weight.data.fill_(3.0)
            m.register_buffer("n", torch.zeros(()))
            return m
        def make_inputs(): return (torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),)
    """
    found = done(text)
    assert found.gradients["call 0 argument [0]"].tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert found.gradients["of module.weight"].tolist() == [[4.0, 6.0]]
    assert list(found.states["module"]) == ["weight", "n"]
    weighted = done(text.replace("CALLS = 1", "CALLS, WEIGHTED = 1, True"))
    assert weighted.gradients["call 0 argument [0]"].tolist() == [[3.0, 3.0], [6.0, 6.0]]


def test_modules_that_a_function_reaches():
    found = done("""
        BACKWARD = True
        A = torch.nn.Linear(1, 1)
        def make_fn():
            b = torch.nn.Linear(1, 1)
            return lambda x: b(A(x))
        def make_inputs(): return (torch.ones(1, 1),)
    """)
    assert set(found.gradients) == {"of A.weight", "of A.bias", "of b.weight", "of b.bias"}
    assert set(found.states) >= {"A", "b"}


def test_modes_and_complex_results():
    found = done("""
        BACKWARD = True
        def make_inputs(): return (torch.tensor([3 + 4j], requires_grad=True),)
        def f(x): return x * 2, torch.ones(2)
    """)
    assert found.gradients["call 1 argument [0]"].abs().tolist() == [2.0]
    found = done("NO_GRAD = True\ndef make_inputs(): return torch.ones(1, requires_grad=True)\nf = torch.neg\n")
    assert not found.results[0].requires_grad


def test_what_calls_leave_behind():
    found = done("""
        count, words, hidden = 0, ["a"], object()
        def state(): return {"count": count}
        def make_inputs(): return (torch.ones(2), [1])
        def f(x, items):
            global count
            count += 1
            words.append("b")
            items.append(x + 1)
            items.append(x)
    """)
    assert found.states["state"] == {"count": 2}
    assert found.states["globals"]["count"] == 2 and found.states["globals"]["words"] == ["a", "b", "b"]
    assert "hidden" not in found.states["globals"]
    x, items = found.states["arguments"][0]
    assert x == "call 0 argument [0]" and items[0] == 1 and items[1].tolist() == [2.0, 2.0] and items[2] == x


def test_reset_and_what_torch_compile_is_given():
    given = []

    def wrap(function, **own):
        given.append(own)
        return function

    text = """
        COMPILE_KWARGS = dict(dynamic=True)
        log = []
        def reset(): log.append("reset")
        def make_inputs(): return ()
        def f(): return list(log)
    """
    assert done(text, wrap).results == [["reset"], ["reset"]] and given == [{"dynamic": True}]


def test_settings_hold_while_it_runs_unless_the_job_has_them():
    text = """
        CONFIG = {"inductor": {"cpp.simdlen": 1}, "dynamo": {"capture_scalar_outputs": True}}
        def make_inputs(): return ()
        def f(): return torch._inductor.config.cpp.simdlen, torch._dynamo.config.capture_scalar_outputs
    """
    before = torch._inductor.config.cpp.simdlen
    assert done(text).results[0] == (1, True) and torch._inductor.config.cpp.simdlen == before
    checked = read("import torch\n" + dedent(text), "a.py")
    loaded = Loaded.of(checked.source, {}).under({"inductor.cpp.simdlen": 8})  # which whoever runs it sets
    assert run_once(loaded, identity).results[0] == (before, True)
    assert isinstance(run(text.replace("simdlen", "nonesuch")).error, OptionError)


def test_a_scenario():
    found = done("""
        COMPILE_KWARGS = dict(dynamic=False)
        def scenario(wrap):
            return wrap(lambda x: x + 1)(torch.zeros(2)), {"k": wrap(abs, fullgraph=True)(-3)}
    """)
    assert found.results[0][0].tolist() == [1.0, 1.0] and found.results[0][1] == {"k": 3}


def test_tracebacks_name_the_file_and_its_lines(tmp_path):
    (tmp_path / "helper.py").write_text("def bad(): raise ValueError('v')\n")
    text = "from helper import bad\ndef make_inputs(): return ()\ndef f():\n    bad()\n"
    error = run(text, path=str(tmp_path / "case.py")).error
    lines = []
    trace = error.__traceback__
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    assert (str(tmp_path / "case.py"), 5) in lines and isinstance(error, ValueError)


def test_what_cannot_be_executed_twice_is_executed_once():
    text = """
        lib = torch.library.Library("fuzzgraphcheck", "DEF")
        lib.define("once(Tensor x) -> Tensor")
        count = []
        def make_inputs(): return (torch.ones(1),)
        def f(x): count.append(1); return len(count)
    """
    checked = read("import torch\n" + dedent(text), "a.py")
    loaded = Loaded.of(checked.source, {})
    first, second = run_once(loaded, identity), run_once(loaded, identity)
    assert first.error is None and second.error is None and first.results == [1, 2]


def test_what_fails_before_the_calls_did_not_begin():
    assert not run("def make_inputs(): 1 / 0\ndef f(): pass\n").began
    assert run("def make_inputs(): return ()\ndef f(): 1 / 0\n").began


SCRIPT = """
    import sys
    import torch.nn as nn

    @torch.compile(dynamic=True)
    def f(x, k=None):
        return x * 2, k

    model = nn.Linear(2, 2)
    fast = torch.compile(model, mode="default", backend="inductor")
    if __name__ == "__main__":
        x = torch.ones(2, requires_grad=True)
        a, _ = f(x, k={"t": torch.zeros(1)})
        fast(a).sum().backward()
        assert sorted(fast.state_dict()) == ["_orig_mod.bias", "_orig_mod.weight"]
        assert isinstance(fast, nn.Module) and fast.in_features == 2 and fast.weight is model.weight
        print(sys.argv)
        sys.exit(3)
"""


def test_a_script_s_compiled_callables_are_recorded():
    given = []

    def wrap(function, **own):
        given.append(own)
        return function

    before = torch.compile, torch._dynamo.optimize
    found = done(SCRIPT, wrap)
    assert (torch.compile, torch._dynamo.optimize) == before
    assert given == [{"dynamic": True}, {"mode": "default"}]
    assert [type(r).__name__ for r in found.results] == ["tuple", "Tensor"]
    names = ["call 0 argument [0][0]", "call 0 argument [1]['k']['t']", "call 1 argument [0][0]"]
    assert list(found.inputs) == names
    assert found.gradients["call 0 argument [0][0]"] is not None
    assert found.gradients["of module 0 parameter bias"].tolist() == [1.0, 1.0]
    assert list(found.states["module 0"]) == ["weight", "bias"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import re\nre.compile('x')\n", "the script never calls torch.compile"),
        ("torch.compile(abs)\n", "the script never calls what torch.compile returns"),
        ("torch.compile(abs)\n1 / 0\n", "the script raises ZeroDivisionError by itself: division by zero"),
    ],
)
def test_scripts_that_say_nothing(text, words):
    error = run(text).error
    assert not isinstance(error, Exception) and str(error) == words


def test_a_script_that_catches_what_its_function_raises_still_shows_it():
    error = run("""
        def f(x): raise KeyError("k")
        try:
            torch.compile(f)(1)
        except KeyError:
            pass
    """).error
    assert isinstance(error, KeyError)


def test_a_script_s_own_complaints_do_not_hide_results():
    found = done("out = torch.compile(abs)(-2)\nassert out == 3\n")
    assert found.results == [2]


def test_torch_s_own_uses_of_compile_are_not_the_script_s():
    found = done("""
        from torch._dynamo import optimize
        linear = torch.nn.Linear(1, 1)
        linear.compile(fullgraph=True)
        linear(torch.ones(1, 1))
        torch._dynamo.optimize("eager", nopython=True)(abs)(-1)
        torch.compile(abs, disable=True)(-5)
    """)
    assert len(found.results) == 2 and found.results[1] == 1
