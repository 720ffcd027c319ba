"""`fuzzgraph import` as users meet it: scripts, exported programs, repros, op_db, and bad input of each kind."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from fuzzgraph.grammar import load_rules
from fuzzgraph.ir import text
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.verify import verify
from fuzzgraph.render import render
from tests.cli.test_cli import Cli, cli, fuzzgraph, refused

__all__ = ["cli"]

SCRIPT = """
import sys, torch; torch.manual_seed(0)
@torch.compile(mode="max-autotune")
def f(x, y):
    with torch.no_grad():
        z = x[:, 1:] * x.size(0)
    x += 1
    return z.sum(0), x @ y
print("result", f(torch.randn(3, 4), torch.randn(4, 2))[0].shape)
f(torch.randn(3, 4), torch.randn(4, 2))
if "--fail" in sys.argv:
    sys.exit(7)
"""
REPRO = """
import torch
class Repro(torch.nn.Module):
    def forward(self, s0, x, i):
        y = torch.ops.aten.add.Tensor(x, 1)
        return (torch.ops.aten.index_select.default(y, 0, i),)
mod = Repro()
def load_args(reader):
    reader.symint(4)
    buf0 = reader.storage(None, 48)
    reader.tensor(buf0, (4, 3), is_leaf=True)
    buf1 = reader.storage(None, 16, dtype_hint=torch.int64)
    reader.tensor(buf1, (2,), dtype=torch.int64, is_leaf=True)
load_args._version = 0
if __name__ == "__main__":
    raise SystemExit("not for importers")
"""


def programs(folder: Path) -> list[Program]:
    """The programs written; each is exact, verified, and runs."""
    found = []
    for file in sorted(folder.glob("*.fg")):
        head, _, body = file.read_text().partition("\n")
        program = text.parse(body)
        assert head.startswith("# Imported from ") and text.format(program) == body
        book = load_rules()
        assert verify(program, book.check) == []
        namespace: dict[str, object] = {}
        exec(render(program, book).source, namespace)
        namespace["run"](lambda f: f, namespace["make_inputs"]())  # type: ignore[operator]
        found.append(program)
    return found


@pytest.mark.compiles
def test_a_script_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    out = tmp_path / "out"
    done = fuzzgraph("import", "-o", out, "--json", "--", sys.executable, tmp_path / "script.py")
    assert done.returncode == 0, done.stderr
    assert "result torch.Size([3])" in done.stderr  # the script's own output, which is no JSON
    (row,) = map(json.loads, done.stdout.splitlines())
    assert row["origin"] == "script.py:6 in f" and row["python"] == {} and row["new"]
    (program,) = programs(out)
    assert Path(row["program"]).name.startswith("script_")
    written = Path(row["program"]).read_text()
    assert "form no_grad {" in written and "as augmented" in written and "matmul(" in written

    again = fuzzgraph("import", "-o", out, "--", sys.executable, tmp_path / "script.py", "--fail")
    assert again.returncode == 1
    assert "the command failed with exit status 7; what it compiled before is imported" in again.stderr
    assert again.stdout.endswith(f"0 programs written to {out}, 1 known already, 0 graphs refused\n")
    assert len(list(out.iterdir())) == 1 and program.size == row["operators"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import torch; torch.ones(2)", ["it never calls torch.compile"]),
        ("import torch; torch.compile(lambda x: x)", ["never runs what that gives"]),
        ("x = 1", ["it never imports torch"]),
        ("import sys; sys.exit(3)", ["failed with exit status 3", "never imports torch"]),
        ("import os; os.kill(os.getpid(), 9)", ["failed with signal 9"]),
    ],
)
def test_a_script_without_a_graph(cli: Cli, tmp_path: Path, code: str, words: list[str]) -> None:
    done = cli("import", "-o", tmp_path / "out", "--", sys.executable, "-c", code)
    refused(done, 2, *words)
    assert not (tmp_path / "out").exists()


def test_pythons_that_cannot_be_recorded(cli: Cli, tmp_path: Path) -> None:
    refused(cli("import", "--", sys.executable, "-S", "-c", ""), 2, "no Python that could be recorded")
    refused(cli("import", "--", tmp_path / "none"), 2, "No such file")


def test_another_sitecustomize_still_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.stderr.write('mine too\\n')")
    root = Path(__file__).resolve().parents[2]
    code = "import sys, sitecustomize; sys.exit(sitecustomize.__file__.startswith(sys.argv[1]) * 5)"
    path = os.pathsep.join([str(root), str(tmp_path)])
    done = fuzzgraph("import", "--", sys.executable, "-c", code, tmp_path, PYTHONPATH=path)
    assert "mine too" in done.stderr and "failed with exit status 5" in done.stderr and done.returncode == 2


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x + self.attention(x, x, x, need_weights=False)[0])


@pytest.mark.compiles
def test_an_exported_program_and_a_repro(tmp_path: Path) -> None:
    exported = torch.export.export(Layer(), (torch.randn(2, 3, 8),))
    torch.export.save(exported, tmp_path / "layer.pt2")
    (tmp_path / "repro.py").write_text(REPRO)
    done = fuzzgraph("import", "-o", tmp_path / "out", "--json", tmp_path / "layer.pt2", tmp_path / "repro.py")
    assert done.returncode == 0, done.stderr
    layer, repro = map(json.loads, done.stdout.splitlines())
    assert layer["origin"] == "layer.pt2" and layer["operators"] >= 20
    assert repro["operators"] == 2 and repro["python"] == {}
    assert len(programs(tmp_path / "out")) == 2


@pytest.mark.compiles
def test_a_transformer_of_a_hundred_nodes(cli: Cli, tmp_path: Path) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    stack = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).train()
    torch.export.save(torch.export.export(stack, (torch.randn(2, 3, 8),)), tmp_path / "encoder.pt2")
    done = cli("import", "-o", tmp_path / "out", "--json", tmp_path / "encoder.pt2")
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    assert row["operators"] >= 100
    (program,) = programs(tmp_path / "out")
    assert program.options.grad and program.size == row["operators"]
    assert sum(row["python"].values()) <= 10, row["python"]


@pytest.mark.compiles
def test_samples_of_op_db(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("expecttest")
    done = cli("import", "-o", tmp_path / "out", "--op-db", "addm[mv]", "--samples", "2")
    assert done.returncode == 0, done.stderr
    assert all("op_db: addm" in line for line in done.stdout.splitlines()[:-1])
    assert len(programs(tmp_path / "out")) >= 2


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.pt2", b"no archive", "no exported program"),
        ("a.txt", b"", "unknown kind of file"),
        ("a.py", b"x = (", "no Python file"),
        ("a.py", b"import torch", "no repro of the minifier"),
        ("a.py", b"class Repro: pass\ndef load_args(r): raise ValueError('odd')\n", "does not load: ValueError: odd"),
        ("a.py", REPRO.replace("(x, 1)", "(x, i)").encode(), "does not run on its inputs"),
        ("none.pt2", None, "no such file"),
    ],
)
def test_bad_files(cli: Cli, tmp_path: Path, name: str, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    refused(cli("import", "-o", tmp_path / "out", tmp_path / name), 2, name, words)


def test_bad_options(cli: Cli, tmp_path: Path) -> None:
    refused(cli("import"), 2, "nothing to import")
    refused(cli("import", "--op-db", "add", "--samples", "0"), 2, "--samples")
    (tmp_path / "file").touch()
    refused(cli("import", "-o", tmp_path / "file", "--op-db"), 2, "this is no folder")
    refused(cli("import", "-o", tmp_path / "out", "--op-db", "unheard_of"), 2, "no operator 'unheard_of'")


def test_only_import_takes_a_command(cli: Cli) -> None:
    refused(cli("show", "--", "none.fg"), 2, "none.fg")
