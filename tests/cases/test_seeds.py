"""The seed corpus: readable, small, exact in all forms, and it runs."""

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from fuzzgraph.errors import ProgramError
from fuzzgraph.execution.infer import InferClient
from fuzzgraph.grammar import RuleBook, load_rules
from fuzzgraph.ir import text, wire
from fuzzgraph.ir.builtins import BUILTINS
from fuzzgraph.ir.hash import content_hash, skeleton_hash
from fuzzgraph.ir.program import Program, op_of
from fuzzgraph.ir.verify import verify
from fuzzgraph.render import render
from fuzzgraph.resources import data_dir

FOLDER = data_dir("corpus") / "seeds"
FILES = sorted(FOLDER.glob("*.fg"))
TRIGGERS = Path(__file__).parent / "triggers"
# Whole models, as `fuzzgraph import` makes them of scripts/seed_models.
MODELS = sorted(FOLDER.glob("imported_*.fg"))


@pytest.fixture(scope="module")
def book() -> RuleBook:
    return load_rules()


@pytest.fixture(params=FILES, ids=lambda p: p.stem)
def file(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_enough_and_small() -> None:
    sizes = [text.parse_file(str(f)).size for f in FILES]
    assert len(sizes) >= 60
    assert statistics.median(sizes) <= 5
    assert max(text.parse_file(str(f)).size for f in FILES if f not in MODELS) <= 8


def test_models() -> None:
    sizes = [text.parse_file(str(f)).size for f in MODELS]
    assert len(sizes) >= 6 and min(sizes) >= 10 and max(sizes) <= 120


def test_all_different() -> None:
    assert len({content_hash(text.parse_file(str(f))) for f in FILES}) == len(FILES)


def test_none_is_a_known_bug() -> None:
    """What a campaign finds, it finds from seeds that say nothing of it: not even their operators, put together so.
    Neither of known bugs, nor of the faults that are planted to measure campaigns (`triggers`: a program for each)."""
    files = [*(data_dir("corpus") / "regressions").glob("*.fg"), *TRIGGERS.glob("*.fg")]
    bugs = {skeleton_hash(program): name for name, program in programs(sorted(files))}
    assert len(bugs) >= 45
    found = {f.name: bugs.get(skeleton_hash(text.parse_file(str(f)))) for f in FILES}
    assert {seed: bug for seed, bug in found.items() if bug} == {}


def programs(files: list[Path]) -> Iterator[tuple[str, Program]]:
    with InferClient() as infer:
        for file in files:
            try:
                yield file.stem, text.parse_file(str(file))
            except ProgramError:  # as it was reported: without types
                yield file.stem, text.parse_file(str(file), infer)


def test_no_verbatim_python() -> None:
    assert not [f.name for f in FILES if any(op_of(n) == "python" for n in text.parse_file(str(f)).nodes())]


def test_readable_and_exact(file: Path, book: RuleBook) -> None:
    first, _, body = file.read_text().partition("\n")
    assert first.startswith("# ") and first.endswith(".") and len(first) < 110
    program = text.parse(body)
    assert text.format(program) == body, "canonical: fuzzgraph's own formatting, types written out"
    assert wire.unpack(wire.pack(program)) == program
    assert verify(program, book.check) == []
    assert {op_of(n) for n in program.nodes()} <= {*book.rules, *BUILTINS}


def outcome(program: Program, book: RuleBook | None) -> list[Any]:
    namespace: dict[str, Any] = {}
    exec(render(program, book).source, namespace)
    torch.manual_seed(0)
    results: list[Any] = namespace["run"](lambda f: f, namespace["make_inputs"]())
    return results


def test_runs_alike_in_any_spelling(file: Path, book: RuleBook) -> None:
    program = text.parse_file(str(file))
    spelled, plain = (torch.utils._pytree.tree_leaves(outcome(program, b)) for b in (book, None))
    torch.testing.assert_close(spelled, plain, equal_nan=True, rtol=0, atol=0)
    for call, nodes in zip(program.calls, render(program).outputs, strict=True):
        assert set(nodes) <= {n.name for n in program.function(call.function).graph.nodes}
