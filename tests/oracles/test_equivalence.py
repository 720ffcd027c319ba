"""The equivalence oracle: compiled against compiled."""

import torch
from fakes import FakeTools, run

from fuzzgraph.generate.options import CONFIG
from fuzzgraph.ir.text import parse
from fuzzgraph.oracles import equivalence
from fuzzgraph.oracles._types import Trial

X = torch.arange(6.0).reshape(2, 3)
GOOD, WRONG, RAISES = run((X, X * 2)), run((X + 1, X * 2)), run(error=ValueError("no"))


def plan(undo="", **more):
    rewrite = {"key": "rewrite", "source": "s", "undo": undo, "gradients": True}
    return {"gradients": True, "variants": [rewrite], **more}


def judged(subject=GOOD, eager=GOOD, of=None, compiled=GOOD, **tools):
    tools = FakeTools(GOOD, others={"s": Trial(eager, compiled, FakeTools(eager))}, **tools)
    found = equivalence.judge(of or plan(), GOOD, subject, tools)
    assert not tools.reasons
    return [(f.kind, f.variant) for f in found], tools.notes


def test_a_rewrite():
    assert judged() == ([], [])
    assert judged(compiled=WRONG) == ([("value", "rewrite")], [])
    assert judged(compiled=RAISES) == ([("exception", "rewrite")], [])


def test_a_rewrite_that_is_none():
    assert judged(eager=WRONG, compiled=WRONG) == ([], ["rewrite: eager computes something else"])
    assert judged(eager=RAISES) == ([], ["rewrite: eager raises ValueError: no"])


def test_results_are_put_back():
    swapped = run((X * 2, X))
    assert judged(of=plan("reversed"), eager=swapped, compiled=swapped) == ([], [])
    assert judged(of=plan("reversed"), eager=swapped, compiled=GOOD)[0] == [("value", "rewrite")]
    shown = run(((X, X * 2), X + 5))
    assert judged(of=plan("first"), eager=shown, compiled=shown) == ([], [])


def test_a_program_that_is_wrong_itself_is_left_to_others():
    assert judged(subject=WRONG) == ([], [])
    assert judged(subject=RAISES) == ([], [])


def test_a_second_compilation():
    assert judged(of={"gradients": True, "again": True}, again=WRONG)[0] == [("value", equivalence.AGAIN)]
    assert judged(of={"gradients": True, "again": True})[0] == []


def test_a_setting_that_this_torch_lacks():
    assert judged(of={"gradients": True, "config": {"inductor.x": 1}}) == ([], [])


def test_a_setting_that_is_not_written_yet():
    """Which torch says itself; of a rewrite, and where it says anything else, it is a failure."""
    of = {"gradients": True, "config": {"inductor.cpp_wrapper": True}}
    for text in ("a non-null device is not yet supported", "codegen of it is not implemented for cpp wrapper"):
        unwritten = run(error=NotImplementedError(text))
        assert judged(of=of, reconfigured=unwritten) == ([], [f"inductor.cpp_wrapper=True: {text}"])
    for error in (ValueError("not supported"), NotImplementedError("argument of type: <class 'Integer'>")):
        found = judged(of=of, reconfigured=run(error=error))[0]
        assert found == [("exception", "inductor.cpp_wrapper=True")]
    assert judged(compiled=unwritten)[0] == [("exception", "rewrite")]


def test_roundings_that_fusion_skips():
    half = run(X.half())
    off = run((X + 1).half())
    again = {"gradients": True, "again": True}
    for emulated, kinds in ((half, []), (off, ["value"])):
        tools = FakeTools(half, again=off, low_precision=True, emulated=half, reconfigured=emulated)
        assert [f.kind for f in equivalence.judge(again, half, half, tools)] == kinds


def test_settings_are_known():
    for name, values in equivalence.SETTINGS.items():
        assert set(values) <= set(CONFIG[name])


def test_what_is_planned_depends_on_the_program_alone():
    text = "fuzzgraph 1\ninput x: f32[{n}]\ndef f(x) {{\n a: f32[{n}] = relu(x)\n return a\n}}\ncall f(x)"
    programs = [parse(text.format(n=n)) for n in range(40)]
    plans = [equivalence.plan(p, None) for p in programs]
    assert plans == [equivalence.plan(p, None) for p in programs]
    assert {p["again"] for p in plans} == {True, False}
    assert len({str(p["config"]) for p in plans}) > 8
    for program, found in zip(programs, plans):
        key = next((equivalence._config_key(*i) for i in found["config"].items()), "other")
        assert dict(equivalence.with_setting(program, key).options.config) == found["config"]
