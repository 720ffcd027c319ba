"""Facts about Python hold, as they stand in their files and as programs write them."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import types
from typing import Any

import pytest

import fuzzgraph.render.facts as package
from fuzzgraph.render.facts import facts

FACTS = facts()


def module_of(source: str) -> types.ModuleType:
    module = types.ModuleType("fuzzgraph_fact_test")
    sys.modules[module.__name__] = module  # data classes look there
    exec(source, module.__dict__)
    return module


@pytest.mark.parametrize("name", FACTS)
def test_it_holds_however_often_it_runs(name: str) -> None:
    lines, function = FACTS[name].written(lambda stem: f"{stem}_7")
    assert function == f"{name}_7"
    module = module_of("\n".join(lines))
    assert [getattr(module, function)() for _ in range(3)] == [True] * 3
    defined = {n for n, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
    assert all(n.endswith("_7") for n in defined)


def test_each_stands_in_a_file_and_is_true_there() -> None:
    found: dict[str, Any] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        found |= {n: f for n, f in vars(module).items() if n in FACTS}
    assert found.keys() == FACTS.keys() and len(found) > 100
    assert [name for name, f in found.items() if f() is not True] == []


def test_only_what_a_fact_needs_is_written() -> None:
    """The classes that it names and their bases, in the order of the file, each import of its own."""
    lines, _ = FACTS["order_of_bases"].written(lambda stem: f"{stem}_1")
    heads = [line for line in lines if line.startswith(("class ", "def ", "import ", "from "))]
    assert heads == [
        "class Bottom_1:", "class Left_1(Bottom_1):", "class Right_1(Bottom_1):", "class Both_1(Left_1, Right_1):",
        "def order_of_bases_1():",
    ]  # fmt: skip
    assert "    def run(self, log):" in lines
    lines, _ = FACTS["named_tuples"].written(str)
    assert lines[0] == "from typing import NamedTuple" and "    x: int" in lines and "Any" not in "\n".join(lines)
