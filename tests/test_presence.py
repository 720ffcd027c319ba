"""Plug-ins: one folder laid out like ours adds to every registry, in the engine and in the harness."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fuzzgraph import minimize, mutators, oracles
from fuzzgraph.errors import FuzzgraphError, UsageError
from fuzzgraph.grammar import load_rules
from fuzzgraph.harness import observers, targets
from fuzzgraph.presence import PLACES, PLUGINS, modules, plug_in, plugged, plugins
from fuzzgraph.render import load_forms
from fuzzgraph.render.instances import load_instances

MARKED = """
from __future__ import annotations
from dataclasses import dataclass
{imports}

@dataclass
class Setting:
    n: int = 1

{mark}
class Mine:
{body}
"""
FORM = """
    name, weight = "mine", 1.0
    def problem(self, args):
        return None
    def sample(self, rng):
        return ()
    def write(self, block):
        return ["if True:", *indented(block.lines)]
"""
INSTANCE = """
    name, is_module = "mine", False
    def stem(self, function, closure):
        return function.name
"""
FILES = {
    "rules": "op mine.sin(input)\n  input : tensor float [*S]\n",
    "mutator": MARKED.format(
        imports="from fuzzgraph.mutators import mutator", mark='@mutator("mine", weight=3.0)',
        body="    def mutate(self, program, rng, tools):\n        return None",
    ),
    "reducer": MARKED.format(
        imports="from fuzzgraph.minimize import reducer", mark='@reducer("mine", order=1)',
        body="    def changes(self, program, tools):\n        return []",
    ),
    "oracle": (
        "from fuzzgraph.oracles._failure import Failure\n\n"
        "def plan(program, book):\n    return {'asked': True}\n\n"
        "def judge(plan, reference, subject, tools):\n"
        "    return [Failure('mine', 'always', message='seen')] if plan['asked'] else []\n"
    ),
    "form": MARKED.format(
        imports="from fuzzgraph.render.forms import form, indented", mark="@form", body=FORM,
    ),
    "instance": MARKED.format(
        imports="from fuzzgraph.render.instances import instance", mark="@instance", body=INSTANCE,
    ),
    "target": "def wrap(kwargs):\n    return lambda function, **_: lambda *args: function(*args) + 1\n",
    "observer": (
        "def start():\n    pass\n\ndef freeze(more):\n    pass\n\ndef begin(full):\n    pass\n\n"
        "def end():\n    return ['seen']\n"
    ),
}  # fmt: skip
NAMES: dict[str, Callable[[], Any]] = {
    "rules": lambda: [op.removesuffix(".sin") for op in load_rules().rules],
    "mutator": lambda: [m.name for m in mutators.load()],
    "reducer": lambda: [r.name for r in minimize.load()],
    "oracle": oracles.names,
    "form": load_forms,
    "instance": load_instances,
    "target": targets.names,
    "observer": lambda: modules(observers.__name__, "observer"),
}


def file_of(plugin: Path, kind: str) -> Path:
    return plugin / PLACES[kind] / ("mine.rules" if kind == "rules" else "mine.py")


def write(plugin: Path, kind: str, text: str | None = None) -> Path:
    path = file_of(plugin, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FILES[kind] if text is None else text)
    return path


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Path]:
    """A plug-in with a file of each kind, in use."""
    for kind in PLACES:
        write(tmp_path / "all", kind)
    with plugged([tmp_path / "all"]):
        yield tmp_path / "all"


@pytest.mark.parametrize("kind", PLACES)
def test_a_plug_in_adds_to_each_registry(kind: str, plugin: Path) -> None:
    (file_of(plugin, kind).parent / "_helper.py").write_text("raise RuntimeError")
    found = list(NAMES[kind]())
    with_it = len(found)
    assert "mine" in found
    os.environ[PLUGINS] = ""
    assert "mine" not in NAMES[kind]() and len(list(NAMES[kind]())) == with_it - 1


def test_the_folder_of_the_engine_may_be_left_out(tmp_path: Path) -> None:
    for place in ("mutators", "fuzzgraph/mutators"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "mutators" / "a.py").write_text(FILES["mutator"].replace('"mine"', '"first"'))
    (tmp_path / "fuzzgraph" / "mutators" / "b.py").write_text(FILES["mutator"].replace('"mine"', '"second"'))
    with plugged([tmp_path]):
        assert {"first", "second"} <= {m.name for m in mutators.load()}
    assert plugins() == ()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def (", "does not import: SyntaxError"), ("1 / 0", "does not import: ZeroDivisionError"),
        ("raise SystemExit", "does not import: SystemExit"), ("x = 1", "defines 0 mutators"),
        (FILES["mutator"].replace('"mine"', '"splice"'), "a second mutator 'splice'"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named(tmp_path: Path, source: str, message: str) -> None:
    path = write(tmp_path, "mutator", source)
    with plugged([tmp_path]), pytest.raises(FuzzgraphError, match=message) as caught:
        mutators.load()
    assert caught.value.where == str(path)


def test_a_file_of_our_name_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "oracle").rename(tmp_path / PLACES["oracle"] / "value.py")
    with plugged([tmp_path]), pytest.raises(FuzzgraphError, match="a second oracle 'value'") as caught:
        oracles.names()
    assert caught.value.where == str(path)


def test_a_broken_module_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "target", "1 / 0\n")
    with plugged([tmp_path]), pytest.raises(FuzzgraphError, match="does not import: ZeroDivisionError") as caught:
        targets.load("mine")
    assert caught.value.where == str(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: None, "no such directory"), (Path.touch, "this is no directory"),
        (Path.mkdir, "holds no file of a plug-in"),
    ],
)  # fmt: skip
def test_what_is_no_plug_in_is_refused(tmp_path: Path, make: Callable[[Path], None], message: str) -> None:
    make(tmp_path / "p")
    with pytest.raises(UsageError, match=message) as caught:
        plug_in([tmp_path / "p"])
    assert caught.value.where == f"plug-in {tmp_path / 'p'}"
    assert plugins() == ()


def fuzzgraph(*words: str | Path, plugin: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, where `plugin` is named by the environment."""
    env = os.environ | {PLUGINS: str(plugin or "")}
    return subprocess.run(
        [sys.executable, "-m", "fuzzgraph", *map(str, words)], env=env, capture_output=True, text=True
    )


def test_a_plug_in_that_the_environment_names_wrongly_is_refused(tmp_path: Path) -> None:
    done = fuzzgraph("grammar", "list", plugin=tmp_path / "none")
    assert (done.returncode, done.stderr) == (2, f"fuzzgraph: plug-in {tmp_path / 'none'}: no such directory\n")


PROGRAM = """fuzzgraph 1
input x: f32[2]
def f(x) {
  form mine {
    a = sin(x)
  }
  return a
}
call f(x)
"""


@pytest.mark.once
@pytest.mark.compiles
def test_the_harness_uses_it(plugin: Path, tmp_path: Path) -> None:
    """Form, target and oracle of the plug-in, named on the command line, reach the process that runs the program."""
    (tmp_path / "p.fg").write_text(PROGRAM)
    words = ("run", tmp_path / "p.fg", "--target", "mine", "--oracles", "value,mine", "--json")
    done = fuzzgraph(*words, "--plugin", plugin)
    assert done.returncode == 1, done.stderr
    found = {f["oracle"]: f["kind"] for f in json.loads(done.stdout)["failures"]}
    assert found == {"value": "value", "mine": "always"}
    assert "no oracle 'mine'" in fuzzgraph(*words).stderr
