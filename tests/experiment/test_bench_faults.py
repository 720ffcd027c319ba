"""The bench of planted faults: what a fault file says, groups, what a watcher sees, and whose a finding is."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fuzzgraph.corpus.records import FindingRecord
from fuzzgraph.corpus.store import Store
from fuzzgraph.errors import FuzzgraphError, UsageError
from fuzzgraph.execution.protocol import Failure, Job, Outcome
from fuzzgraph.experiment import bench_faults, planted, watching
from fuzzgraph.experiment.attribution import ALIKE, NONE, NOT, SAME, Attribution, Found, causes, shows
from fuzzgraph.experiment.bench_faults import Row, shares
from fuzzgraph.experiment.planted import Fault, dealt, fault_of, read
from tests.campaign.fakes import program

ROOT = Path(__file__).resolve().parents[2]
WRONG = Failure("value", "value", "run", "values differ (float32)")
CRASH = Failure("crash", "exception", "inductor", "it broke", frames=("_inductor/ir.py:make",), exc_type="KeyError")
OTHER_CRASH = Failure("crash", "exception", "inductor", "also", frames=("_inductor/ir.py:other",), exc_type="KeyError")

CLAMP = '''"""clamp with both bounds applies only the lower one."""
import planter
KIND = "wrong-value"
DIFFICULTY = 1

def apply():
    planter.plant("torch._inductor.decomposition", "clamp", "if max is not None:", "elif max is not None:")
'''
ATAN2 = '''"""The vector code of atan2 calls a method that does not exist."""
import planter
DIFFICULTY = 4

def apply():
    planter.plant("torch._inductor.codegen.cpp", "CppVecOverrides.atan2", ".atan2(", ".arctan2(")
'''
# Gives a function the code of its changed source.
PLANTER = '''import importlib, inspect, textwrap

def plant(module, name, old, new):
    home = importlib.import_module(module)
    function = home
    for part in name.split("."):
        function = inspect.getattr_static(function, part)
    function = getattr(function, "__func__", function)
    function = inspect.unwrap(function)
    lines, first = inspect.getsourcelines(function)
    source = textwrap.dedent("".join(lines))
    assert source.count(old) == 1, (name, old)
    source = "\\n" * (first - 1) + "\\n".join("" if line.startswith("@") else line for line in
                                            source.replace(old, new).split("\\n"))
    space = dict(vars(home))
    exec(compile(source, home.__file__, "exec"), space)
    function.__code__ = space[function.__name__].__code__
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "faults"
    made.mkdir()
    for name, text in {
        "clamp_low.py": CLAMP, "atan2_name.py": ATAN2, "planter.py": PLANTER,
        "_more.py": "def apply(): ...\n", "gpu.py": 'TARGET = "triton"\ndef apply(): ...\n',
    }.items():  # fmt: skip
        (made / name).write_text(text)
    return made


def test_what_a_folder_holds(folder: Path) -> None:
    faults, skipped = read(folder)
    assert [(f.name, f.difficulty, f.kind) for f in faults] == [("atan2_name", 4, ""), ("clamp_low", 1, "wrong-value")]
    assert [(s.name, s.reason) for s in skipped] == [
        ("gpu", "it is for the target triton"), ("planter", "it has no apply()"),
    ]  # fmt: skip
    assert [f.name for f in read(folder, ["clamp_low"])[0]] == ["clamp_low"]
    assert fault_of(json.loads(json.dumps(faults[0].to_json()))) == faults[0]


@pytest.mark.parametrize(
    ("name", "content", "only", "said"),
    [
        ("a.py", "def apply(:", [], "no Python file"),
        ("a.py", "DIFFICULTY = 9\ndef apply(): ...", [], "DIFFICULTY must be 1 to 5, not 9"),
        ("a.py", "x = 1", [], "no fault here: a: it has no apply"),
        ("a.txt", "", [], "no fault here"),
        ("a.py", "def apply(): ...", ["b"], "no fault 'b'"),
    ],
)
def test_what_is_no_folder_of_faults(tmp_path: Path, name: str, content: str, only: list[str], said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=said):
        read(tmp_path, only)
    with pytest.raises(UsageError, match="no such folder"):
        read(tmp_path / "none")


def faults(difficulties: Sequence[int], **changes: str) -> list[Fault]:
    return [
        Fault(f"f{n}", f"/f{n}.py", d, changes=frozenset(changes.get(f"f{n}", f"own{n}").split()))
        for n, d in enumerate(difficulties)
    ]


def test_groups_are_of_mixed_difficulty_and_follow_from_the_seed() -> None:
    some = faults([1, 1, 1, 2, 2, 2, 4, 4, 5, 5, 0])
    groups = dealt(some, 3, Random(0))
    assert sorted(len(g) for g in groups) == [3, 4, 4]
    assert all({1, 2} <= {f.difficulty for f in g} and any(f.difficulty > 3 for f in g) for g in groups)
    assert groups == dealt(list(reversed(some)), 3, Random(0)) != dealt(some, 3, Random(1))
    assert sorted(f.name for g in groups for f in g) == sorted(f.name for f in some)


def test_faults_that_change_the_same_are_apart() -> None:
    some = faults([1, 1, 2, 2], f0="cat", f1="cat relu", f3="relu")
    for seed in range(10):
        for group in dealt(some, 2, Random(seed)):
            assert not {"f0", "f1"} <= {f.name for f in group} and not {"f1", "f3"} <= {f.name for f in group}
    with pytest.raises(UsageError, match="changes what one fault of each group changes"):
        dealt(some, 1, Random(0))


def test_shows() -> None:
    assert shows(Outcome("1", "failure", failures=(WRONG, CRASH)), CRASH) == SAME
    assert shows(Outcome("1", "failure", failures=(OTHER_CRASH,)), CRASH) == ALIKE
    assert shows(Outcome("1", "failure", failures=(WRONG,)), CRASH) == NOT


@pytest.mark.parametrize(
    ("replays", "faults"),
    [
        ({"a": SAME, NONE: NOT}, ["a"]),
        ({"a": SAME, "b": ALIKE, NONE: ALIKE}, ["a"]),
        ({"a": SAME, "b": SAME, "c": NOT, NONE: NOT}, ["a", "b"]),
        ({"a": ALIKE, "b": NOT, NONE: NOT}, ["a"]),
        ({"a": ALIKE, NONE: ALIKE}, []),
        ({"a": SAME, NONE: SAME}, []),
        ({"a": SAME}, []),
        ({"a": NOT, NONE: NOT}, []),
        ({}, []),
    ],
)
def test_causes(replays: dict[str, str], faults: list[str]) -> None:
    assert causes(replays) == faults


class FakeBench:
    """Says of a program what `table` does: (finding, file of the fault or "") -> failures."""

    def __init__(self, table: dict[tuple[str, str], tuple[Failure, ...]]) -> None:
        self.table, self.ran, self.preload = table, [], ()  # type: ignore[var-annotated]

    def job(self, name: str, of: Any, settings: Any, asked: Any) -> Job:
        return Job(name, "")

    def executor(self, preload: Sequence[str]) -> FakeBench:
        self.preload = tuple(preload)
        return self

    def release(self, preload: Sequence[str]) -> None:
        pass

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        fault = Path(self.preload[0]).stem if self.preload else ""
        self.ran += [(job.id, fault) for job in jobs]
        return [Outcome(job.id, "failure", failures=self.table.get((job.id, fault), ())) for job in jobs]


def found(*failures: Failure) -> list[Found]:
    return [Found(f"x{n}", f"x{n}", "t", 10.0 * n, f, program()) for n, f in enumerate(failures)]


def test_each_finding_is_given_to_its_fault(tmp_path: Path) -> None:
    bench = FakeBench({
        ("x0", "f0"): (CRASH,), ("x1", "f0"): (OTHER_CRASH,), ("x1", "f1"): (CRASH,), ("x1", ""): (),
        ("x2", ""): (WRONG,), ("x2", "f0"): (WRONG,), ("x2", "f1"): (WRONG,), ("x2", "f2"): (WRONG,),
    })  # fmt: skip
    some = found(CRASH, CRASH, WRONG, WRONG, CRASH)
    made = Attribution(tmp_path, faults([1, 2, 5]), some, lambda: False)
    made.run(bench, 1)  # type: ignore[arg-type]
    assert [getattr(made.first(f), "id", None) for f in ("f0", "f1", "f2")] == ["x0", "x1", None]
    assert [f.id for f in made.own()] == ["x2"]
    assert [f.id for f in made.unexplained()] == ["x3", "x4"]
    assert len(bench.ran) == len(set(bench.ran)), "nothing is replayed twice"
    # Another run has all of it from the file, and completes it on demand.
    again = FakeBench({})
    other = Attribution(tmp_path, faults([1, 2, 5]), some, lambda: False)
    other.run(again, 1)  # type: ignore[arg-type]
    assert again.ran == [] and other.replays == made.replays
    other.run(again, 1, complete=True)  # type: ignore[arg-type]
    assert all(len(replays) == 4 for replays in other.replays.values())


def test_a_finding_that_turns_out_to_be_anothers_makes_room(tmp_path: Path) -> None:
    bench = FakeBench({("x0", "f0"): (OTHER_CRASH,), ("x0", "f1"): (CRASH,), ("x5", "f0"): (CRASH,)})
    made = Attribution(tmp_path, faults([1, 2]), found(*[CRASH] * 6), lambda: False)
    made.run(bench, 1)  # type: ignore[arg-type]
    assert (made.first("f0") or some_none()).id == "x5" and (made.first("f1") or some_none()).id == "x0"


def some_none() -> Found:
    raise AssertionError("no finding")


def test_two_faults_that_the_campaign_takes_for_one(tmp_path: Path) -> None:
    bench = FakeBench({("x", "f0"): (CRASH,), ("x/1", "f1"): (CRASH,)})
    some = [Found("x", "x", "t", 1.0, CRASH, program()), Found("x/1", "x", "t", 8.0, CRASH, program(), first=False)]
    made = Attribution(tmp_path, faults([1, 2, 5]), some, lambda: False)
    made.run(bench, 1)  # type: ignore[arg-type]
    assert [getattr(made.first(f), "cpu", None) for f in ("f0", "f1", "f2")] == [1.0, 8.0, None]
    assert made.own() == made.unexplained() == made.left() == []


def test_replays_stop_when_asked(tmp_path: Path) -> None:
    bench = FakeBench({})
    made = Attribution(tmp_path, faults([1]), found(CRASH), lambda: True)
    made.run(bench, 1)  # type: ignore[arg-type]
    assert bench.ran == [] and made.unexplained() == [] and len(made.left()) == 1


def test_what_a_watcher_sees(tmp_path: Path) -> None:
    (tmp_path / "1" / "campaign").mkdir(parents=True)
    store = Store(tmp_path / "1" / "campaign")
    lines = {"f0": {"_inductor/ir.py": [7, 8]}, "f1": {"_inductor/ir.py": [70]}}
    some = [Fault(name, f"/{name}.py", lines=lines.get(name, {})) for name in ("f0", "f1", "f2")]
    watched = watching.Watched(tmp_path / "1", some)
    for cpu, features, findings in (
        (5.0, [(0, "line", "_inductor/ir.py:6"), (1, "counter", "x")], []),
        (9.0, [(2, "line", "_inductor/ir.py:8")], ["a"]),
        (30.0, [(3, "line", "_dynamo/ir.py:70")], ["a", "b"]),
    ):
        with store.transaction():
            store.put_state("progress", {"cpu": cpu})
            store.put_features(features)
            for id in findings:
                store.put_finding(FindingRecord(id, "crash", f"s{id}", "t", 1, (f"h{id}",), 0.0))
        watched.look()
    store.close()
    assert watched.seen.reached == {"f0": 9.0} and watched.seen.findings == {"a": {"ha": 9.0}, "b": {"hb": 30.0}}
    assert watching.load(tmp_path / "1").findings == watched.seen.findings


def test_a_campaign_that_does_not_run_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(arguments: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"], text=True)

    monkeypatch.setattr("fuzzgraph.experiment._run.start", start)
    with pytest.raises(FuzzgraphError, match="exit status 3"):
        watching.Watched(tmp_path / "1", []).conduct(1.0, 0, 1, lambda: False)
    monkeypatch.setattr("fuzzgraph.experiment._run.start", lambda a, **o: subprocess.Popen(["true"], text=True))
    with pytest.raises(FuzzgraphError, match="before its time"):
        watching.Watched(tmp_path / "1", []).conduct(1.0, 0, 1, lambda: False)


def test_shares_and_exit() -> None:
    rows = [Row("a", 1, "", 1, 1.0, 2.0), Row("b", 3, "", 1, 1.0), Row("c", 5, "", 1), Row("d", 0, "", 1, 1.0, 1.0)]
    found = shares(rows)
    assert found["1-3"] == {"faults": 2, "reached": 2, "found": 1, "wanted": 0.8, "enough": False}
    assert found["4-5"] == {"faults": 1, "reached": 0, "found": 0, "wanted": 0.4, "enough": False}
    assert shares([])["1-3"]["enough"]


def test_another_command_does_not_go_on(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planted, "examined", lambda some: (list(some), []))
    monkeypatch.setattr(planted, "check_together", lambda groups: None)
    monkeypatch.setattr(bench_faults.FaultBench, "run", lambda self: None)
    command = [str(folder), "--cpu-minutes", "1", "-o", str(tmp_path / "o"), "--groups", "1"]
    assert bench_faults.main(command) == 0
    assert bench_faults.main(command) == 0
    with pytest.raises(UsageError, match="begun with another seed"):
        bench_faults.main([*command, "--seed", "3"])
    with pytest.raises(UsageError, match="something else is there"):
        bench_faults.main([*command[:4], str(folder)])
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="something else is there"):
        bench_faults.main([*command[:4], str(tmp_path / "file")])
    (tmp_path / "o" / "plan.json").write_text("{")
    with pytest.raises(UsageError, match="not readable"):
        bench_faults.main(command)
    with pytest.raises(UsageError, match="must be above 0"):
        bench_faults.main([str(folder), "--cpu-minutes", "0"])


def test_the_help_says_what_a_fault_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench_faults.main(["--help"])
    said = capsys.readouterr().out
    assert all(word in said for word in ("DIFFICULTY", "PLANTED", "TARGET", "apply()", "KIND"))


# A campaign in miniature, which finds two crashes, as a process of its own.
CAMPAIGN = "import sys; from pathlib import Path; from tests.campaign.test_campaign import run; run(Path(sys.argv[1]))"


class FakeReplays(FakeBench):
    """With the fault low, programs crash in one place; with high in another; starting up runs what mid changes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__({})

    def __enter__(self) -> FakeReplays:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        place = {"low": "make_0", "high": "make_1"}.get(Path(self.preload[0]).stem if self.preload else "")
        frames = ("_inductor/graph.py:run_node", f"_inductor/ir.py:{place}")
        failure = Failure("crash", "exception", "inductor", "it broke", "at length", frames, "AssertionError")
        return [Outcome(job.id, "failure", failures=(failure,) if place else ()) for job in jobs]

    def baseline(self, target: str) -> dict[str, dict[str, list[int]]]:
        return {"line": {"_inductor/x.py": [1]}}


def test_from_campaigns_to_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "faults"
    folder.mkdir()
    for name, difficulty in (("low", 1), ("mid", 3), ("high", 5), ("blind", 0)):
        (folder / f"{name}.py").write_text(f"DIFFICULTY = {difficulty}\ndef apply(): ...\n")
    lines = {"low": {"_inductor/ir.py": [2]}, "mid": {"_inductor/x.py": [1]}, "high": {"_inductor/y.py": [1]}}
    monkeypatch.setattr(
        planted, "examined", lambda some: ([replace(f, lines=lines.get(f.name, {})) for f in some], [])
    )  # fmt: skip
    monkeypatch.setattr(planted, "check_together", lambda groups: None)
    monkeypatch.setattr("fuzzgraph.campaign.replay.Bench", FakeReplays)
    started: list[Sequence[str]] = []

    def start(arguments: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        started.append(arguments)
        if len(started) == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return subprocess.Popen([sys.executable, "-c", CAMPAIGN, arguments[2]], cwd=ROOT, text=True)

    monkeypatch.setattr("fuzzgraph.experiment._run.start", start)
    out = tmp_path / "out"
    command = [str(folder), "--cpu-minutes", "0.001", "--groups", "1", "--jobs", "1", "-o", str(out)]
    assert bench_faults.main(command) == 1
    said = capsys.readouterr()
    assert f"terminated; the same command goes on from {out}" in said.err and "low" in said.out
    shutil.rmtree(out / "1" / "campaign", ignore_errors=True)

    assert bench_faults.main(command) == 1, "mid is not found"
    table = capsys.readouterr().out
    rows = {line.split()[0]: line.split() for line in table.splitlines()[1:5]}
    assert len(started) == 2 and "--no-llm" in started[1] and started[1].count("--preload") == 4
    assert rows["low"][4] != "-", table
    assert rows["low"][3] != "-" and rows["low"][4] != "-" and rows["low"][5] == "crash:"
    assert rows["mid"][3:] == ["0", "-"], "reached by starting up"
    assert rows["high"][3] == rows["high"][4] != "-", "what is found was reached"
    assert rows["blind"][3:] == ["?", "-"], "nobody can tell"
    result = json.loads((out / "result.json").read_text())
    assert result["shares"]["1-3"]["found"] == 1 and result["shares"]["4-5"] == {
        "faults": 1, "reached": 1, "found": 1, "wanted": 0.4, "enough": True,
    }  # fmt: skip
    (group,) = result["groups"]
    assert {name for f in group["findings"] for name in f["faults"]} == {"high", "low"}
    assert group["own"] == group["unexplained"] == []

    assert bench_faults.main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == result and len(started) == 2, "nothing is run again"


@pytest.mark.once
@pytest.mark.compiles
def test_what_faults_change(folder: Path) -> None:
    """Two faults are seen for what they change; two that change one function cannot be planted together."""
    edit = '"if max is not None:", "elif max is not None:"'
    assert edit in CLAMP
    (folder / "twin.py").write_text(CLAMP.replace(edit, '"if min is not None:", "if min is not None and True:"'))
    (folder / "raises.py").write_text("def apply():\n    raise ValueError('not in this torch')\n")
    known, unfit = planted.examined(read(folder)[0])
    assert [(s.name, s.reason) for s in unfit] == [
        ("raises", "it cannot be planted: ValueError: not in this torch")
    ]  # fmt: skip
    by_name = {f.name: f for f in known}
    assert list(by_name["atan2_name"].lines) == ["_inductor/codegen/cpp.py"]
    assert list(by_name["clamp_low"].lines) == ["_inductor/decomposition.py"]
    assert by_name["clamp_low"].changes & by_name["twin"].changes
    planted.check_together([[by_name["atan2_name"], by_name["clamp_low"]]])
    with pytest.raises(UsageError, match="cannot be planted together: clamp_low"):
        planted.check_together([[by_name["clamp_low"], by_name["twin"]]])
