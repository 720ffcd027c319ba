"""`fuzzgraph regress` over a small folder: strict verdicts, JUnit, shards, one line for what a user can mend."""

import json
import xml.etree.ElementTree as ET

import pytest

from fuzzgraph.cli import main

HEAD = "fuzzgraph 1\ninput x: i16[4] values ints(-3, 3)\ndef f(x) {\n a = abs(x)\n"
GOOD = HEAD + " return a\n}\ncall f(x)\n"
BROKEN = HEAD + " b = minimum(a, x)\n return b\n}\ncall f(x)\n"


def add(folder, name, text, verdict, **more):
    (folder / f"{name}.fg").write_text(text)
    lines = [f'{key} = "{value}"' for key, value in {"verdict": verdict, **more}.items()]
    (folder / f"{name}.toml").write_text(f'title = "{name}"\n[[expect]]\n' + "\n".join(lines) + "\n")


@pytest.mark.once
@pytest.mark.compiles
def test_a_folder(tmp_path, capsys):
    folder = tmp_path / "kept"
    folder.mkdir()
    add(folder, "a-good", GOOD, "ok")
    add(folder, "b-broken", BROKEN, "crash exception", match="min_propagate_nan")
    add(folder, "c-fixed", GOOD, "value")
    add(folder, "d-new", GOOD, "ok", torch=">=99")
    assert main(["regress", str(folder), "--json", "--junit", str(tmp_path / "r.xml")]) == 1
    results = {r["name"]: r for r in json.loads(capsys.readouterr().out)["results"]}
    assert {name: r["result"] for name, r in results.items()} == {
        "a-good": "passed", "b-broken": "passed", "c-fixed": "failed", "d-new": "skipped",
    }  # fmt: skip
    assert results["c-fixed"]["detail"] == "expected value, got ok: is it fixed?"
    suite = ET.parse(tmp_path / "r.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "1")
    assert main(["regress", str(folder), "--shard", "1/4"]) == 0
    assert "1 as expected, 0 not, 0 skipped" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-folder"], "no such directory"),
        (["--shard", "3/2"], "'3/2' is no shard"),
        (["--shard", "all"], "'all' is no shard"),
        (["--target", "nonsense"], "no program has an expectation of target 'nonsense'"),
    ],
)
def test_what_is_refused(arguments, said, capsys):
    assert main(["regress", *arguments]) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.err.count("\n") == 1 and shown.out == ""


def test_a_text_that_is_no_program(tmp_path, capsys):
    add(tmp_path, "a", "fuzzgraph 1\nnonsense\n", "ok")
    assert main(["regress", str(tmp_path)]) == 2
    shown = capsys.readouterr()
    assert "a.fg" in shown.err and shown.err.count("\n") == 1
