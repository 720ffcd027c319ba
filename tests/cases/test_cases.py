"""Real bugs of torch.compile, written by hand: the program format can say them exactly."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from fuzzgraph.grammar import load_rules
from fuzzgraph.ir import text, wire
from fuzzgraph.ir.program import op_of
from fuzzgraph.render import render, standalone
from fuzzgraph.resources import data_dir

FOLDER = data_dir("corpus") / "regressions"
FILES = sorted(FOLDER.glob("[0-9]*.fg"))
# Open on torch 2.15; each names what its reproducer prints.
OPEN = {
    "174371": "Tensor-likes are not close!",
    "179804": "Tensor-likes are not close!",
    "189799": "Tensor-likes are not close!",
    "195451": "sharing of memory",
    "191582": "might be aliasing the input",
    "196681": "compiled: exit status",
    "197095": "compiled raises nothing",
    "197811": "Scalars are not close!",
    "198094": "Tensor-likes are not equal!",
    "198190": "eager generator, compiled tuple_iterator",
}


@pytest.fixture(params=FILES, ids=lambda p: p.stem)
def file(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_the_language_says_nearly_all_of_them() -> None:
    assert len(FILES) >= 88
    assert OPEN.keys() <= {f.stem for f in FILES}
    verbatim = [f.stem for f in FILES if any(op_of(n) == "python" for n in text.parse_file(str(f)).nodes())]
    assert len(verbatim) <= len(FILES) // 10


def test_exact_in_all_forms(file: Path) -> None:
    first, _, body = file.read_text().partition("\n")
    assert first.startswith(f"# pytorch issue {file.stem}: ")
    program = text.parse(body)
    assert text.parse(text.format(program)) == program
    assert wire.unpack(wire.pack(program)) == program


def test_runs_in_eager(file: Path) -> None:
    program = text.parse_file(str(file))
    namespace: dict[str, Any] = {}
    exec(render(program, load_rules()).source, namespace)
    inputs = namespace["make_inputs"]()
    if program.options.expects_error:
        with pytest.raises((RuntimeError, IndexError)):
            namespace["run"](lambda f: f, inputs)
    else:
        assert len(namespace["run"](lambda f: f, inputs)) == len(program.calls)


def torch_release() -> tuple[int, int]:
    major, minor, *_ = torch.__version__.split(".")
    return int(major), int(minor)


@pytest.mark.compiles
@pytest.mark.timeout(900)  # on an empty cache torch compiles its headers first
@pytest.mark.skipif(torch_release() != (2, 15), reason="which of the bugs are open is known for torch 2.15")
@pytest.mark.parametrize("issue", sorted(OPEN))
def test_reproducer_shows_the_bug(issue: str, tmp_path: Path) -> None:
    program = text.parse_file(str(FOLDER / f"{issue}.fg"))
    script = tmp_path / "repro.py"
    script.write_text(standalone(program, load_rules(), title=f"pytorch issue {issue}"))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr[-2000:]
    assert OPEN[issue] in done.stdout + done.stderr  # what compiled code raises is in its own log
