"""Forms of files, what they are made into, and one clear line for what is none."""

from pathlib import Path

import pytest

from fuzzgraph.check.source import FUNCTION, SCENARIO, SCRIPT, load, read
from fuzzgraph.errors import UsageError

INPUTS = "def make_inputs(): return ()\n"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (INPUTS + "def f(): pass\n", FUNCTION),
        (INPUTS + "f = abs\n", FUNCTION),
        (INPUTS + "def make_fn(): pass\n", FUNCTION),
        ("def make_inputs_seq(): return []\nif True:\n    from a import b as f\n", FUNCTION),
        ("def scenario(wrap): pass\n", SCENARIO),
        ("def scenario(wrap): pass\ndef f(): pass\n", SCENARIO),
        ("import torch\ndef f(x): return x\ntorch.compile(f)\n", SCRIPT),
        ("import torch\n@torch.compile\ndef f(x): return x\n", SCRIPT),
        ("from torch import compile as c\nc(abs)\n", SCRIPT),
        ("import torch._dynamo as d\nd.optimize('eager')(abs)\n", SCRIPT),
        ("m.compile()\n", SCRIPT),
    ],
)
def test_the_form_of_a_file(text, form):
    assert read(text, "a.py").form == form


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n", "a.py:1: no Python: "),
        ("x\0y", "no Python: "),
        ("", "a.py: nothing to check in this file (it needs make_inputs and f or make_fn, or scenario, or to call"),
        ("def f(x): return x\n", "a.py: nothing to check in this file"),
        (INPUTS, "a.py: has make_inputs, but neither f nor make_fn"),
        ("def make_fn(): pass\n", "a.py: has make_fn, but no make_inputs"),
        (INPUTS + "def f(): pass\ndef make_fn(): pass\n", "a.py: defines f and make_fn: which is to be checked?"),
        (INPUTS + "def f(): pass\ndef scenario(w): pass\n", "a.py: defines f and scenario: which is to be checked?"),
    ],
)
def test_what_is_no_file_to_check(text, message):
    with pytest.raises(UsageError) as error:
        read(text, "a.py")
    assert message in str(error.value) and "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match=r"none\.py: No such file or directory"):
        load(tmp_path / "none.py")
    with pytest.raises(UsageError, match="Is a directory"):
        load(tmp_path)
    with pytest.raises(UsageError, match=r"a\.fg: this is no Python file \(`fuzzgraph run` takes programs\)"):
        load("a.fg")
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="this is no text file"):
        load(tmp_path / "binary.py")


def test_the_text_stays_as_it_is_so_that_lines_hold():
    text = INPUTS + "SIGNBIT = True\nFP64 = False\ndef f():\n    1 / 0"
    checked = read(text, "/x/a.py")
    assert checked.source.startswith(text + "\n") and checked.facts == {
        "SIGNBIT": True, "FP64": False, "CHECK_VALUES": True,
    }  # fmt: skip
    job = checked.job("id", "inductor", 7.0)
    assert job.expects_error and job.timeout == 7.0 and job.options == {"float64": False, "file": "/x/a.py"}
    assert job.plans["missed_error"] == {"exact": True} and {"value", "fake", "crash"} <= set(job.plans)


def test_what_values_decide_is_not_asked():
    assert "value" not in read(INPUTS + "f = abs\nCHECK_VALUES = False\n", "a.py").job("", "", 1).plans
    assert "fake" not in read("def scenario(wrap): pass\n", "a.py").job("", "", 1).plans


@pytest.mark.parametrize(
    "text", [f"x = {'-' * 100_000}1", "x = " + "+".join(["1"] * 50_000), "if 1: pass\n" + "elif 1: pass\n" * 5000]
)
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^f\.py: nested too deeply$"):
        read(text, "f.py")


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.compile(abs)\n", encoding="utf-8-sig")
    assert load(tmp_path / "a.py").form == SCRIPT
