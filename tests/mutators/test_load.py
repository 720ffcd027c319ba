"""Mutators are found by presence."""

import pytest

from fuzzgraph.errors import FuzzgraphError
from fuzzgraph.mutators import load

GOOD = """
from __future__ import annotations
from dataclasses import dataclass
from fuzzgraph.mutators import mutator

@dataclass
class Setting:
    n: int = 1

@mutator("mine", weight=3.0)
class Mine:
    def mutate(self, program, rng, tools):
        return None
"""


def test_in_the_order_of_their_names():
    names = [m.name for m in load()]
    assert names == sorted(names)
    assert "insert_node" in names


@pytest.mark.parametrize("folder", ["", "mutators", "fuzzgraph/mutators"])
def test_one_file_more_is_one_mutator_more(tmp_path, folder):
    home = tmp_path / folder
    home.mkdir(parents=True, exist_ok=True)
    (home / "mine.py").write_text(GOOD)
    (home / "_helper.py").write_text("raise RuntimeError")
    mine = next(m for m in load([tmp_path]) if m.name == "mine")
    assert mine.weight == 3.0
    assert len(load([tmp_path])) == len(load()) + 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def (", "does not import: SyntaxError"),
        ("1 / 0", "does not import: ZeroDivisionError"),
        ("x = 1", "defines 0 mutators"),
        (GOOD.replace('"mine"', '"splice"'), "a second mutator 'splice'"),
    ],
)
def test_a_broken_file_is_named(tmp_path, source, message):
    (tmp_path / "broken.py").write_text(source)
    with pytest.raises(FuzzgraphError, match=message) as caught:
        load([tmp_path])
    assert caught.value.where == str(tmp_path / "broken.py")
