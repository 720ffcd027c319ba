"""Reproducers: short, import torch only, and their exit status tells."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from fuzzgraph.ir import text
from fuzzgraph.render import check, standalone
from fuzzgraph.render.standalone import Checks
from fuzzgraph.render.unusual import RANDOM_CALLS

SMALL = """fuzzgraph 1
input x: i16[4] values full(3)
def f(x) {
  a: i16[4] = abs(x)
  return a
}
call f(x)
"""
FLOATS = """fuzzgraph 1
input x: f16[4, 3][1, 4] grad values normal
input y: f16[4] values normal
const w: f32[3] values normal
state log: list = []
option grad = True
option dynamic = True
option autocast = "bf16"
option config.inductor.cpp.simdlen = 1
option config.inductor.post_grad_fusion_options.decompose_mm_pass = True
def f(x, y) {
  a: f32[4, 3] = mul(x, w)
  s = state.append(log, a)
  b: f16[4] = Tensor.mul_(y, 2.0)
  return (a, [b, y])
}
call f(x, y)
call f(x, y) with no_grad
"""


def script(program: str, **options: Any) -> str:
    return standalone(text.parse(program), **options)


def without_compiling(code: str, compiled: str = "lambda f: f") -> str:
    """The script with another function in place of torch.compile."""
    found, count = re.subn(r"torch\.compile\(f\b[^()]*\)", lambda call: f"({compiled})(f)", code)
    assert count
    return found


def compare(code: str, compiled: str = "lambda f: f") -> bool:
    """What the script's compare() says, in this process, whose settings stay as they are."""
    plain = "\n".join(line for line in without_compiling(code, compiled).splitlines() if not line.startswith("torch._"))
    namespace: dict[str, Any] = {"__name__": "repro"}
    exec(plain, namespace)
    differ: bool = namespace["compare"]()
    return differ


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The script as a user runs it. Takes three starts of torch."""
    path = folder / "repro.py"
    path.write_text(code)
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=folder, timeout=250)


def test_imports_torch_and_the_standard_library_only() -> None:
    for program in (SMALL, FLOATS):
        tree = ast.parse(script(program, title="A title", details="Two\nlines"))
        names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        names |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert {n.split(".")[0] for n in names} <= {"torch", "sys", "signal", "subprocess"}


def test_short() -> None:
    assert len(script(SMALL).splitlines()) < 90
    assert len(script(SMALL, crash=True).splitlines()) < 60
    assert max(len(line) for line in script(FLOATS).splitlines()) <= 110


def test_options_are_in_it() -> None:
    code = script(FLOATS)
    assert "torch._inductor.config.cpp.simdlen = 1\n" in code
    assert 'torch._inductor.config.post_grad_fusion_options = {"decompose_mm_pass": {}}\n' in code
    assert "torch.compile(f, dynamic=True)" in code
    assert 'with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():' in code


def test_title_and_details_are_the_docstring() -> None:
    code = script(SMALL, title='A "title" \\ with """quotes"""', details="Two\nlines")
    assert ast.get_docstring(ast.parse(code)) == "A \"title\" \\ with '''quotes'''\n\nTwo\nlines"


@pytest.mark.parametrize("program", [SMALL, FLOATS])
def test_agreement(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert not compare(script(program))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("compiled", "text"),
    [
        ("lambda f: lambda x: f(x) + 1", "['results'][0]: Tensor-likes are not equal!"),
        ("lambda f: lambda x: f(x).long()", "['results'][0]: The values for attribute 'dtype' do not match"),
        ("lambda f: lambda x: [f(x)]", "structure: "),
        ("lambda f: lambda x: x", "sharing of memory: "),
        ("lambda f: lambda x: f(x) + 0 * x.zero_()", "['inputs']['x']: Tensor-likes are not equal!"),
    ],
)
def test_differences(compiled: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(script(SMALL), compiled)
    assert text in capsys.readouterr().out


def test_states_and_gradients_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(script(FLOATS), "lambda f: lambda x, y: f(x * 2, y)")
    said = capsys.readouterr().out
    assert "['gradients']['x']: " in said and "['states']['log'][0]: " in said


def test_the_sign_of_zero_counts_where_asked(capsys: pytest.CaptureFixture[str]) -> None:
    program = SMALL.replace("i16", "f32").replace("full(3)", "full(0.0)")
    assert not compare(script(program), "lambda f: lambda x: -f(x)")
    assert compare(script(program, checks=Checks(zero_sign=True)), "lambda f: lambda x: -f(x)")
    assert "['results'][0]: sign of zero: 0 times -0.0 in eager, 4 times in compiled" in capsys.readouterr().out
    assert "signbit" not in script(program)


def test_values_may_be_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    code = script(SMALL, ignore=[("results", 0)])
    assert not compare(code, "lambda f: lambda x: f(x) + 1")
    assert compare(code, "lambda f: lambda x: f(x).long()")
    assert "The values for attribute 'dtype' do not match" in capsys.readouterr().out
    other = "lambda f: lambda x, y: f(x * 2, y)"
    assert compare(script(FLOATS, ignore=[("results",), ("states", "log")]), other)
    assert not compare(script(FLOATS, ignore=[("results",), ("states", "log"), ("gradients",)]), other)


@pytest.mark.once
@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiled", "status", "text"),
    [
        ("lambda f: f", 0, "eager and compiled agree"),
        ("lambda f: lambda x: f(x) + 1", 1, "Tensor-likes are not equal!"),
        ("lambda f: lambda x: undefined", 1, "compiled: exit status 1"),
        ("lambda f: lambda x: __import__('os').abort()", 1, "compiled: exit status -6"),
        ("lambda f: lambda x: __import__('os')._exit(125)", 1, "compiled: exit status 125"),
    ],
)
def test_exit_status(compiled: str, status: int, text: str, tmp_path: Path) -> None:
    done = run(without_compiling(script(SMALL), compiled), tmp_path)
    assert (done.returncode, text in done.stdout) == (status, True), done.stderr


@pytest.mark.slow
@pytest.mark.once
def test_a_hang_exits_with_one(tmp_path: Path) -> None:
    # The eager child starts torch within this time, too.
    code = without_compiling(script(SMALL, limit=45, crash=True), "lambda f: lambda x: __import__('time').sleep(300)")
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout) == (1, "compiled: exit status -14\n"), done.stderr


@pytest.mark.once
@pytest.mark.slow
def test_a_failing_reference_exits_with_125(tmp_path: Path) -> None:
    bad = SMALL.replace("abs(x)", "add(x, 1, alpha = 0.5)")
    assert run(script(bad), tmp_path).returncode == 125
    died = script(SMALL).replace("a = torch.abs(x)", "a = __import__('os').abort()")
    assert run(died, tmp_path).returncode == 125


class TestDifference:
    """The quoted judge itself."""

    def test_float64_excuses_rounding_only(self) -> None:
        exact = torch.full((4,), 1 / 3, dtype=torch.float64)
        eager = exact.to(torch.float16)
        other = eager + 0.0005
        assert check.difference(eager, other) is not None or torch.equal(eager, other)
        assert check.difference(eager, eager + 0.2, exact) is not None
        near = (exact + 2e-4).to(torch.float16)
        assert check.difference(eager, near, exact) is None

    def test_float64_of_another_computation_is_no_judge(self) -> None:
        assert check.difference(torch.zeros(3), torch.ones(3), torch.full((3,), 0.5, dtype=torch.float64)) is not None

    def test_infinities_are_not_excused(self) -> None:
        inf = torch.tensor([float("inf"), 1.0])
        assert check.difference(inf, -inf, inf.double()) is not None

    def test_strides_and_grad(self) -> None:
        assert "strides" in str(check.difference(torch.ones(2, 3), torch.ones(3, 2).t()))
        assert check.difference(torch.ones(1, 3), torch.ones(3, 1).t()) is None
        assert "requires_grad" in str(check.difference(torch.ones(2), torch.ones(2, requires_grad=True)))

    def test_other_values(self) -> None:
        assert check.difference(1, 1.0) == "eager int, compiled float"
        assert check.difference("a", "b") == "eager 'a', compiled 'b'"
        assert check.difference(float("nan"), float("nan")) is None


def test_widened_keeps_layout_and_sharing() -> None:
    base = torch.arange(12.0)
    tensors = {"x": base.as_strided((3,), (2,), 1), "y": base.as_strided((2,), (1,), 4), "i": torch.arange(3)}
    wide = check.widened(tensors)
    assert [t.dtype for t in wide.values()] == [torch.float64, torch.float64, torch.int64]
    assert all(torch.equal(a, b.to(a.dtype)) for a, b in zip(tensors.values(), wide.values(), strict=True))
    assert (wide["x"].stride(), wide["x"].storage_offset()) == ((2,), 1)
    assert wide["x"].untyped_storage().data_ptr() == wide["y"].untyped_storage().data_ptr()


@pytest.mark.parametrize(
    ("checks", "compiled", "differs"),
    [
        (Checks(("results",), layout=False), "lambda f: lambda x: f(x) + 1", True),
        (Checks(("results",), layout=False), "lambda f: lambda x: f(x) + 0 * x.zero_()", False),
        (Checks(("inputs",), layout=False), "lambda f: lambda x: f(x) + 0 * x.zero_()", True),
        (Checks(("memory",), layout=False), "lambda f: lambda x: x", True),
        (Checks(("memory",), layout=False), "lambda f: lambda x: f(x) + 1", False),
        (Checks(("structure",), layout=False), "lambda f: lambda x: [f(x)]", True),
        (Checks(("results",), values=False), "lambda f: lambda x: f(x) + 1", False),
        (Checks(("results",), values=False), "lambda f: lambda x: f(x).expand(2, 4).t()[:, 0]", False),
        (Checks(("results",), values=False), "lambda f: lambda x: f(x).repeat_interleave(2)[::2]", True),
        (Checks(("results",), values=False, layout=False, bits=True), "lambda f: lambda x: f(x)._neg_view()", True),
    ],
)
def test_no_more_than_what_is_asked_for_is_compared(checks: Checks, compiled: str, differs: bool) -> None:
    assert compare(script(SMALL, checks=checks), compiled) is differs


def other(kind: Any) -> Any:
    def raise_it(*args: Any) -> Any:
        raise kind("no")

    return lambda f: raise_it


@pytest.mark.parametrize(
    ("compiled", "missed"),
    [(lambda f: f, False), (lambda f: lambda x: x, True), (other(KeyError), True), (other(RuntimeError), False)],
)
def test_a_missed_error(compiled: Any, missed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    code = script(SMALL.replace("a: i16[4] = abs(x)", 'a = python(x) """a = x.view(3)"""'), missed_error=True)
    namespace: dict[str, Any] = {"__name__": "repro"}
    exec("\n".join(line for line in code.splitlines() if not line.startswith("torch._")), namespace)
    monkeypatch.setattr(torch, "compile", compiled)
    assert namespace["missed"]() is missed
    assert isinstance(namespace["raised"](lambda f: f), RuntimeError)


def test_fake_tensors_against_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace: dict[str, Any] = {"__name__": "repro"}
    code = script(FLOATS.replace("state log: list = []\n", "").replace("  s = state.append(log, a)\n", ""), fake=True)
    assert "torch.compile" not in code
    exec("\n".join(line for line in code.splitlines() if not line.startswith("torch._")), namespace)
    assert namespace["compare"]() is False
    run = namespace["run"]
    namespace["run"] = lambda wrap, inputs: run(wrap, inputs) + [len(type(inputs["x"]).__name__)]
    assert namespace["compare"]() is True


DRAWING = """fuzzgraph 1
input x: f32[4, 6] values full(1)
def f(x) {
  r: f32[4, 6] = rand_like(x)
  return r
}
call f(x)
"""


def test_random_numbers_are_compared_over_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in RANDOM_CALLS:
        code = script(DRAWING, random=kind)
        assert "fallback_random = False" in code and "fallback_random = True" not in code
        assert not compare(code, "lambda f: lambda x: 1 - f(x)")
    assert not compare(script(DRAWING, random="varied"), "lambda f: lambda x: f(x)[:1].expand(4, 6)")
    assert compare(script(DRAWING, random="repeated"), "lambda f: lambda x: f(x)[:1].expand(4, 6)")
    theirs, ours = [24] * 8, [6] * 3
    assert f"distinct values in ['results'][0]: {theirs} in eager, {ours} compiled\n" in capsys.readouterr().out


def test_a_back_end_of_its_own() -> None:
    assert 'torch.compile(f, backend="aot_eager", dynamic=True)' in script(FLOATS, backend="aot_eager")


def test_a_run_that_takes_long_is_the_bug_only_where_that_is_the_bug() -> None:
    assert "if status == -signal.SIGALRM:\n        sys.exit(125)" in script(SMALL, hang=False)
    assert "SIGALRM" not in script(SMALL)
    compile(script(SMALL, hang=False), "repro", "exec")
