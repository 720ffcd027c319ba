"""Golden cases: which failures are one finding."""

from __future__ import annotations

import json

import pytest

from fuzzgraph.execution.protocol import Failure, Outcome
from fuzzgraph.ir.text import parse
from fuzzgraph.triage.folder import Discovery, files
from fuzzgraph.triage.signature import core, normal_line, signature, signatures

TEXT = """fuzzgraph 1
input x: {dtype}[4]
def f(x) {{
  a: {dtype}[4] = {op}(x)
  b: {dtype}[4] = minimum(a, x)
  return b
}}
call f(x)
"""


def program(op: str = "abs", dtype: str = "i16"):  # type: ignore[no-untyped-def]
    return parse(TEXT.format(op=op, dtype=dtype))


FRAMES = ("_inductor/graph.py:run", "_inductor/graph.py:call", "_inductor/lowering.py:inner", "_inductor/ir.py:f")
CRASH = Failure("crash", "exception", "inductor", "expected # got #", "trace", FRAMES, "LoweringException")
VALUE = Failure("value", "mismatch", "run", "3 of 8 differ", "detail")
CPP = "no matching function for call to \u2018min_propagate_nan(int&, short int&)\u2019"


def same(a: Failure, b: Failure, first=None, second=None) -> bool:  # type: ignore[no-untyped-def]
    one, other = signature(a, first or program()), signature(b, second or program("neg", "f32"))
    assert (one.text == other.text) == (one.id == other.id)
    return one.text == other.text


def changed(failure: Failure, **changes: object) -> Failure:
    return Failure(**{**failure.__dict__, **changes})


def test_a_crash_is_its_type_stage_and_innermost_frames_whatever_the_program() -> None:
    assert same(CRASH, CRASH)
    assert same(CRASH, changed(CRASH, message="other", detail="other", frames=("_dynamo/x.py:g", *FRAMES)))


@pytest.mark.parametrize(
    "changes",
    [{"exc_type": "KeyError"}, {"stage": "dynamo"}, {"frames": (*FRAMES[:-1], "_inductor/ir.py:g")}, {"kind": "exit"}],
)
def test_another_type_stage_or_frame_is_another_crash(changes: dict[str, object]) -> None:
    assert not same(CRASH, changed(CRASH, **changes))


def test_line_numbers_do_not_count() -> None:
    assert same(CRASH, changed(CRASH, frames=tuple(f.replace(".py:", ".py:12:") for f in FRAMES)))


def test_cpp_errors_go_by_the_compilers_first_error_line() -> None:
    first = Failure("crash", "exception", "cpp", CPP, "", FRAMES, "CppCompileError")
    other = changed(first, message="\u2018foo\u2019 was not declared in this scope")
    assert same(first, changed(first, frames=FRAMES[:2]))
    assert not same(first, other)
    assert "min_propagate_nan(int&, short int&)" in signature(first, program()).text


@pytest.mark.parametrize(
    ("line", "normal"),
    [
        ("/tmp/x/abc.cpp:14:3: error: no", "error: no"),
        ("invalid use of tmp14 in arg3", "invalid use of tmpN in argN"),
        ("cannot convert '/a/b/c.h' \u2018v16\u2019", "cannot convert 'c.h' 'v16'"),
    ],
)
def test_normal_lines(line: str, normal: str) -> None:
    assert normal_line(line) == normal


def test_wrong_values_go_by_operators_and_dtypes() -> None:
    assert same(VALUE, changed(VALUE, message="9 of 9 differ"), program(), program())
    assert not same(VALUE, VALUE, program(), program("neg"))
    assert not same(VALUE, VALUE, program(), program(dtype="i8"))
    assert not same(VALUE, changed(VALUE, kind="nan"), program(), program())
    assert "abs minimum" in signature(VALUE, program()).text


def test_missed_errors_go_by_what_eager_raised() -> None:
    said = 'eager raises NotImplementedError: "hardswish_cpu" not implemented for '
    missed = Failure("missed_error", "missed", "run", "NotImplementedError is not raised", said + "'Short'")
    assert same(missed, changed(missed, detail=said + "'Char'"))
    assert not same(missed, changed(missed, detail=said.replace("hardswish", "elu") + "'Short'"))
    title = 'NotImplementedError is not raised: "hardswish_cpu" not implemented'
    assert signature(missed, program()).title == title
    became = Failure(
        "missed_error", "error_type", "cpp", "IndexError became CppCompileError",
        "eager raises IndexError: index 7 is out of range; compiled: CppCompileError: no match", FRAMES, "CppError",
    )  # fmt: skip
    assert same(became, changed(became, detail=became.detail.replace("7", "12").replace("no match", "x"), frames=()))
    assert not same(became, changed(became, message="IndexError became RuntimeError"))


def test_a_death_without_a_stack_goes_by_operators_too() -> None:
    death = Failure("crash", "signal", "run", "", "", (), "SIGSEGV")
    assert not same(death, changed(death, exc_type="SIGABRT"), program(), program())
    assert not same(death, death, program(), program("neg"))


def test_each_signature_once() -> None:
    assert [s.kind for s in signatures([VALUE, CRASH, VALUE], program())] == ["value mismatch", "crash exception"]


def test_a_fake_tensor_and_what_is_compiled_of_it_are_one() -> None:
    fake = Failure("fake", "stride", "fake", "strides differ", "output 0: eager [4, 1], fake [1, 4]")
    compiled = changed(fake, oracle="metadata", stage="run")
    assert [s.kind for s in signatures([fake, compiled], program())] == ["metadata stride"]
    other = changed(compiled, kind="dtype", message="torch.int8 became torch.float32")
    assert [s.kind for s in signatures([fake, other], program())] == ["fake stride", "metadata dtype"]


def test_folder_says_all(tmp_path: object) -> None:
    outcome = Outcome("1", "failure", "inductor", (CRASH,), versions={"torch": "2.15.0", "python": "3.13"})
    found = signature(CRASH, program())
    discovery = Discovery("ab" * 32, 17, 7, None, ("insert",), "inductor", ("/x/p.py",))
    made = files(found, outcome, "fuzzgraph 1\n", "import torch\n", discovery)
    assert set(made) == {"program.fg", "repro.py", "finding.json", "log", "versions"}
    assert made["versions"] == "python 3.13\ntorch 2.15.0\n"
    assert "trace" in made["log"]
    described = json.loads(made["finding.json"])
    assert described["signature"] == found.text
    assert described["preload"] == ["/x/p.py"]
    assert described["failures"][0]["frames"] == list(FRAMES)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (changed(VALUE, message="values differ (float32)"), changed(VALUE, message="values differ (int64)")),
        (changed(VALUE, kind="dtype", message="torch.float32 became torch.float64"),
         changed(VALUE, kind="dtype", message="torch.float16 became torch.float32")),
        (changed(CRASH, stage="cpp", message=CPP),
         changed(CRASH, stage="cpp", message=CPP.replace("short int", "signed char"))),
        (changed(CRASH, message="aten.abs.default: got float# [1, 2]"),
         changed(CRASH, message="aten.neg.default: got bool")),
    ],
)  # fmt: skip
def test_the_core_of_a_failure_has_no_dtypes_and_operators(one: Failure, other: Failure) -> None:
    assert core(one) == core(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (VALUE, CRASH),
        (VALUE, changed(VALUE, oracle="gradient")),
        (changed(VALUE, message="values differ (float32)"),
         changed(VALUE, message="NaN where eager has none (float32)")),
        (changed(VALUE, kind="dtype", message="torch.float32 became torch.float64"),
         changed(VALUE, kind="dtype", message="torch.float64 became torch.float32")),
        (CRASH, changed(CRASH, frames=(*FRAMES[:-1], "_inductor/ir.py:g"))),
        (CRASH, changed(CRASH, exc_type="KeyError")),
        (changed(CRASH, stage="cpp", message=CPP), changed(CRASH, stage="cpp", message="'x' was not declared")),
    ],
)  # fmt: skip
def test_the_core_tells_failures_apart(one: Failure, other: Failure) -> None:
    assert core(one) != core(other)
