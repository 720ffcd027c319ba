"""Files through real processes. The target selfcheck breaks functions that ask for it, and compiles nothing."""

import json
import os
import subprocess
import sys

import pytest

from fuzzgraph.check import report
from fuzzgraph.check.checker import Checker
from fuzzgraph.check.reduce import NothingToKeep, reduce_file
from fuzzgraph.check.source import load
from fuzzgraph.cli import main

pytestmark = pytest.mark.compiles  # only what an executor's start compiles, which is enough to be slow

TOP = "import torch\ndef make_inputs(): return (torch.ones(3),)\ndef f(x): return x * 2, x.sum()\n"
FILES = {
    "fine": TOP,
    "wrong": TOP.replace("x * 2, x.sum()", "x * 2") + "f.fault = 'miscompile'\n",
    "dies": TOP + "f.fault = 'crash'\n",
    "hangs": TOP + "f.fault = 'hang'\n",
    "raises": "import torch\ndef make_inputs(): return (3,)\ndef f(x): return torch.ones(2)[x]\n",
    "broken": TOP + "1 / 0\n",
    "script": "import torch\ndef f(x):\n    y = x + 1\n    return y * 2\nf.fault = 'miscompile'\n"
              "z = 5\nout = torch.compile(f)(torch.zeros(2))\nassert out.sum() == 4, out\n",
    "never": "import re\nre.compile('x')\n",
}  # fmt: skip
VERDICTS = {
    "fine": ("same", None, None), "wrong": ("diverges", "value", "selfcheck"),
    "dies": ("diverges", "crash", "selfcheck"), "hangs": ("timeout", "crash", "selfcheck"),
    "raises": ("same", None, None), "broken": ("invalid", None, None),
    "script": ("diverges", "value", "selfcheck"), "never": ("invalid", None, None),
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.fixture(scope="module")
def checker():
    with Checker("selfcheck", timeout=4.0) as made:
        yield made


def test_verdicts(checker, files):
    named = [(name, load(files / f"{name}.py")) for name in FILES]
    results = list(checker.check(named))
    found = {r.verdict.file: (r.verdict.verdict, r.verdict.oracle, r.verdict.rung) for r in results}
    assert found == VERDICTS and [r.verdict.file for r in results] == list(FILES)
    wrong = results[1]
    assert wrong.verdict.detail.startswith("output of call 0, torch.float32 [3]: 3 of 3 elements differ")
    assert wrong.rung is not None and [step.shows for step in wrong.rung.steps] == [False, True] and wrong.rows == ()
    assert results[5].verdict.detail == "eager does not run: ZeroDivisionError: division by zero"


@pytest.mark.once
def test_a_script_is_reduced_with_its_failure_kept(checker, files):
    shrunk = reduce_file(str(files / "script.py"), checker)
    assert shrunk.verdict.oracle == "value" and shrunk.reduced.complete
    assert "z = 5" not in shrunk.reduced.text and "miscompile" in shrunk.reduced.text
    assert shrunk.after < shrunk.before == 8
    for file, words in (("fine", "no failure to keep: .*same"), ("broken", "no failure to keep: .*invalid")):
        with pytest.raises(NothingToKeep, match=words) as caught:
            reduce_file(str(files / f"{file}.py"), checker)
        assert caught.value.exit_status == 1
    with pytest.raises(NothingToKeep, match="none has 'gradient' in it"):
        reduce_file(str(files / "wrong.py"), checker, keep="gradient")


@pytest.mark.once
def test_reducing_by_the_command(files, tmp_path, capfd):
    out = tmp_path / "small.py"
    assert main(["tmin", str(files / "wrong.py"), "--target", "selfcheck", "-o", str(out), "--budget", "60"]) == 0
    said, progress = capfd.readouterr()
    line, counts = said.splitlines()
    assert line.startswith(f"{files / 'wrong.py'}: value: output of call 0") and counts.endswith(f"trials: {out}")
    assert len(out.read_text()) < len(FILES["wrong"]) and "lines left" in progress
    assert main(["tmin", str(files / "wrong.py"), "--jobs", "2"]) == 2
    assert capfd.readouterr().err == "fuzzgraph: --jobs: Python source is reduced one candidate at a time\n"


@pytest.mark.once
def test_the_command(files, capfd):
    named = [str(files / f"{name}.py") for name in ("fine", "wrong", "raises")]
    assert main(["check", "--target", "selfcheck", "--json", *named]) == 1
    out, err = capfd.readouterr()
    results = json.loads(out)["results"]
    assert [list(r) for r in results] == [["file", "verdict", "oracle", "rung", "detail"]] * 3
    assert [(r["file"], r["verdict"]) for r in results] == list(zip(named, ["same", "diverges", "same"]))
    assert [line.split(": ")[0] for line in err.splitlines()] == named


@pytest.mark.once
@pytest.mark.parametrize(("name", "status"), [("fine", 0), ("never", 2)])
def test_exit_status(files, name, status, capfd):
    assert main(["check", "--target", "selfcheck", str(files / f"{name}.py")]) == status
    out, err = capfd.readouterr()
    assert out.count("\n") == 1 and err == ""


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["none.py"], "fuzzgraph: none.py: No such file or directory"),
        (["--jobs", "0", __file__], "fuzzgraph: --jobs: must be at least 1"),
        (["--timeout", "-1", __file__], "fuzzgraph: --timeout: must be a number of seconds above 0"),
        (["--preload", "none.py", __file__], "fuzzgraph: --preload none.py: no such file"),
    ],
)
def test_bad_arguments(arguments, line, capfd):
    assert main(["check", *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == "" and err == line + "\n"


@pytest.mark.once
def test_a_file_without_anything_to_check_is_invalid_and_the_others_are_checked(files, tmp_path, capfd):
    (tmp_path / "bad.py").write_text("def (:\n")
    (tmp_path / "lib.py").write_text("def helper(): pass\n")
    named = [str(tmp_path / "bad.py"), str(files / "fine.py"), str(tmp_path / "lib.py")]
    assert main(["check", "--target", "selfcheck", "--json", *named]) == 2
    results = json.loads(capfd.readouterr().out)["results"]
    assert [(r["file"], r["verdict"]) for r in results] == list(zip(named, ["invalid", "same", "invalid"]))
    assert results[0]["detail"].startswith("no Python: ") and results[2]["detail"].startswith("nothing to check")


def test_a_file_that_is_not_there_stops_all_before_anything_runs(files, capfd):
    assert main(["check", str(files / "fine.py"), "none.py"]) == 2
    assert capfd.readouterr() == ("", "fuzzgraph: none.py: No such file or directory\n")


def test_a_target_that_is_none(files, capfd):
    assert main(["check", "--target", "nonesuch", str(files / "fine.py")]) in (2, 3)
    assert "there is no target 'nonesuch'" in capfd.readouterr().err


COMPILED = {
    "module": "import torch\nBACKWARD = True\ndef make_fn(): return torch.nn.Linear(4, 3)\n"
              "def make_inputs(): return (torch.randn(2, 4, requires_grad=True),)\n",
    "graph": "import torch\nCOMPILE_KWARGS = dict(fullgraph=True)\ndef make_inputs(): return (torch.ones(2),)\n"
             "def f(x):\n    torch._dynamo.graph_break()\n    return x + 1\n",
    "crash": "import torch\ndef broken(gm, inputs): raise RuntimeError('no back end')\n"
             "torch.compile(lambda x: x + 1, backend=broken)(torch.ones(2))\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Results by name; the last with an ablation."""
    folder, results = tmp_path_factory.mktemp("compiled"), {}
    with Checker("inductor") as checker:
        for name, text in COMPILED.items():
            (folder / f"{name}.py").write_text(text)
            checker.ablation = name == "crash"
            results[name] = checker.one(name, load(folder / f"{name}.py"))
    return results


@pytest.mark.compiles
def test_a_real_compiler(compiled):
    found = [(r.verdict.verdict, r.verdict.oracle, r.verdict.rung) for r in compiled.values()]
    assert found == [("same", None, None), ("diverges", "crash", "dynamo"), ("diverges", "crash", "inductor")]


@pytest.mark.compiles
def test_a_report(compiled, tmp_path):
    folder = report.write(compiled["crash"], tmp_path, 60.0)
    assert sorted(p.name for p in folder.iterdir()) == ["crash", "report.md", "repro.py", "verdict.json"]
    text = (folder / "report.md").read_text()
    heads = ["# crash: crash (inductor)", "## Describe the bug", "## Error logs", "## Minified repro", "## Ablation"]
    assert [line for line in text.splitlines() if line in heads] == heads and "RuntimeError: no back end" in text
    assert "| aot-eager | fine |" in text and "| dynamic=True | still fails |" in text
    assert json.loads((folder / "verdict.json").read_text())["rung"] == "inductor"


@pytest.mark.compiles
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("name", "status"), [("module", 0), ("crash", 1)])
def test_reproducers_by_plain_python(compiled, tmp_path, name, status):
    (tmp_path / "repro.py").write_text(report.reproducer(compiled[name], 280.0))
    bare = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    bare["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path / "cache")
    assert subprocess.run([sys.executable, "repro.py"], cwd=tmp_path, env=bare).returncode == status
