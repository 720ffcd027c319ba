"""The command line as users meet it: one line for what they can mend, exit statuses, no traceback."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzzgraph.cli import main
from fuzzgraph.cli.commands.run import as_text
from fuzzgraph.corpus.lock import DirectoryLock
from fuzzgraph.corpus.store import Store
from fuzzgraph.execution.protocol import Failure, Job, Outcome
from tests.campaign.test_campaign import run as run_campaign

ROOT = Path(__file__).resolve().parents[2]
TEXT = """fuzzgraph 1
input x: i16[4] values ints(-3, 3) seed 1
def f(x) {
  a: i16[4] = abs(x)
  return a
}
call f(x)
"""


def fuzzgraph(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fuzzgraph", *map(str, arguments)], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`fuzzgraph ARGUMENTS` in this process: importing torch once is enough."""

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        try:
            status = main([str(a) for a in arguments])
        except SystemExit as error:
            status = int(error.code or 0)
        said = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, status, said.out, said.err)

    return call


Cli = Callable[..., subprocess.CompletedProcess[str]]


def refused(result: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    """It says what is wrong in one line on stderr, nothing on stdout, and never a traceback."""
    assert result.returncode == status, result
    assert result.stdout == ""
    assert result.stderr.startswith("fuzzgraph: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("cli") / "c"
    run_campaign(directory)
    return directory


def test_version_and_help_cost_nothing() -> None:
    assert fuzzgraph("--version").stdout.startswith("fuzzgraph ")
    shown = fuzzgraph("--help").stdout
    for name in ("fuzz", "run", "show", "status", "grammar"):
        assert name in shown
    for name in ("fuzz", "run", "show", "status", "grammar"):
        assert fuzzgraph(name, "--help").returncode == 0
    loaded = "import sys, fuzzgraph.cli as c; c.parser(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "False"


def test_usage_errors_are_status_2(cli: Cli) -> None:
    assert cli().returncode == 2
    assert cli("nonsense").returncode == 2
    assert cli("fuzz").returncode == 2


def test_bad_options_are_named(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "c"
    refused(cli("fuzz", "-o", out, "--time", "soon"), 2, "'soon' is no duration")
    refused(cli("fuzz", "-o", out, "--jobs", "0"), 2, "--jobs", "at least 1")
    refused(cli("fuzz", "-o", out, "--deterministic", "--jobs", "2"), 2, "--deterministic")
    refused(cli("fuzz", "-o", out, "--stop-on", "("), 2, "--stop-on")
    refused(cli("fuzz", "-o", out, "--seeds", "/none"), 2, "--seeds", "/none")
    refused(cli("fuzz", "-o", out, "--preload", "/none.py"), 2, "--preload")
    refused(cli("fuzz", "-o", out, "--config", "/none.toml"), 2, "/none.toml")
    assert not out.exists()
    refused(cli("triage", tmp_path, "--timeout", "0"), 2, "above 0")


def test_a_missing_compiler_is_status_3_before_any_work(tmp_path: Path) -> None:
    refused(fuzzgraph("fuzz", "-o", tmp_path / "c", PATH="/nowhere"), 3, "C++ compiler")
    refused(fuzzgraph("fuzz", "-o", tmp_path / "c", CXX="/none/g++"), 3, "CXX")
    assert not (tmp_path / "c").exists()


def test_directories_that_cannot_be_used(cli: Cli, campaign: Path, tmp_path: Path) -> None:
    refused(cli("fuzz", "-o", campaign), 2, "--resume")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    refused(cli("fuzz", "-o", tmp_path / "full"), 2, "not empty")
    (tmp_path / "file").touch()
    refused(cli("fuzz", "-o", tmp_path / "file"), 2, "no directory")


def test_a_locked_directory_names_the_process(cli: Cli, campaign: Path) -> None:
    lock = DirectoryLock(campaign)
    lock.acquire()
    try:
        refused(cli("fuzz", "-o", campaign, "--resume"), 2, f"process {os.getpid()}")
    finally:
        lock.release()


def test_status_agrees_with_the_store(cli: Cli, campaign: Path) -> None:
    shown = json.loads(cli("status", campaign, "--json").stdout)
    store = Store(campaign, readonly=True)
    assert shown["programs"] == store.count("programs") == 200
    assert shown["entries"] == store.count("entries")
    assert [f["signature"] for f in shown["findings"]] == [f.signature for f in store.findings()]
    store.close()
    text = cli("status", campaign)
    assert text.returncode == 0
    assert "200" in text.stdout
    for finding in shown["findings"]:
        assert finding["path"] in text.stdout


def test_status_of_nothing_and_of_damage(cli: Cli, tmp_path: Path) -> None:
    refused(cli("status", tmp_path), 2, "no campaign")
    (tmp_path / "campaign.db").write_bytes(b"junk" * 1000)
    refused(cli("status", tmp_path), 2, "damaged")


def test_show_prints_text_source_and_graph(cli: Cli, tmp_path: Path, campaign: Path) -> None:
    (tmp_path / "p.fg").write_text(TEXT)
    assert cli("show", tmp_path / "p.fg").stdout.startswith("fuzzgraph 1\n")
    assert "def run(wrap, inputs)" in cli("show", "--source", tmp_path / "p.fg").stdout
    assert "graph():" in cli("show", "--graph", tmp_path / "p.fg").stdout
    assert "minimum" in cli("show", f"{campaign}:1").stdout
    assert "minimum" in cli("show", "--corpus", campaign, "2").stdout


def test_programs_that_are_not_there(cli: Cli, tmp_path: Path, campaign: Path) -> None:
    refused(cli("show", "nothing.fg"), 2, "nothing.fg", "no such program")
    refused(cli("show", f"{campaign}:zzzz"), 2, "no such entry")
    refused(cli("run", tmp_path), 2, "no .fg program")
    (tmp_path / "bad.fg").write_text("fuzzgraph 1\ninput x: i16[4\n")
    refused(cli("show", tmp_path / "bad.fg"), 2, "bad.fg:")
    (tmp_path / "binary.fg").write_bytes(b"\xff\xfe\x00")
    refused(cli("show", tmp_path / "binary.fg"), 2, "no text file")


def test_a_reader_that_leaves_early_is_no_error(campaign: Path) -> None:
    shell = f"{sys.executable} -m fuzzgraph show {campaign}:1 {' '.join([f'{campaign}:1'] * 400)} | head -1"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, env=environment)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_grammar_list_and_show(cli: Cli) -> None:
    assert "add" in cli("grammar", "list").stdout
    rows = json.loads(cli("grammar", "list", "--json").stdout)
    assert len(rows) >= 160
    assert "op add(" in cli("grammar", "show", "torch.add").stdout
    refused(cli("grammar", "show", "addd"), 2, "did you mean add")


@pytest.mark.compiles
def test_run_gives_each_oracles_verdict(tmp_path: Path) -> None:
    (tmp_path / "p.fg").write_text(TEXT)
    done = fuzzgraph("run", tmp_path / "p.fg", "--json")
    assert done.returncode == 0, done
    row = json.loads(done.stdout)
    assert row["status"] == "ok"
    assert set(row["oracles"].values()) == {"ok"}


@pytest.mark.once
@pytest.mark.compiles
def test_run_says_2_where_the_reference_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "p.fg").write_text(TEXT.replace("fuzzgraph 1\n", "fuzzgraph 1\noption config.inductor.nonsense = 1\n"))
    done = fuzzgraph("run", tmp_path / "p.fg")
    assert done.returncode == 2, done
    assert "no setting inductor.nonsense" in done.stdout


@pytest.mark.once
@pytest.mark.compiles
def test_run_judges_the_others_where_a_file_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "a.fg").write_text(TEXT.replace("fuzzgraph 1", "fuzzgraph 1\noption speed = 1"))
    (tmp_path / "p.fg").write_text(TEXT)
    for names in ([tmp_path], [tmp_path / "a.fg", tmp_path / "p.fg"]):
        done = fuzzgraph("run", *names)
        assert done.returncode == 2, done
        assert done.stderr.count("\n") == 1 and f"fuzzgraph: {tmp_path / 'a.fg'}:2:8: unknown option" in done.stderr
        assert f"{tmp_path / 'p.fg'}: ok" in done.stdout


def test_a_verdict_stands_apart_from_the_oracles_name() -> None:
    failures = (Failure("missed_error", "missed", "run", "IndexError is not raised"),)
    outcome = Outcome("p", "failure", "run", failures)
    job = Job("p", "", plans={"crash": {}, "missed_error": {}})
    lines = as_text("p.fg", job, outcome).splitlines()
    assert lines[2] == "  missed_error FAIL  missed (run): IndexError is not raised"
    assert lines[1].index("ok") == lines[2].index("FAIL")


@pytest.mark.once
@pytest.mark.compiles
def test_run_says_1_where_an_oracle_fails(tmp_path: Path) -> None:
    (tmp_path / "p.fg").write_text(TEXT)
    (tmp_path / "fault.py").write_text(
        "import torch._inductor.lowering as l\n"
        "def apply():\n"
        "    for key in [k for k in l.lowerings if str(k).startswith('aten.abs')]:\n"
        "        def broken(*args, **kwargs):\n"
        "            raise AssertionError('planted')\n"
        "        l.lowerings[key] = broken\n"
    )
    done = fuzzgraph("run", tmp_path / "p.fg", "--preload", tmp_path / "fault.py")
    assert done.returncode == 1, done
    assert "FAIL" in done.stdout
    assert "planted" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["run", "--timeout", "nan", "a.fg"], "--timeout"), (["run", "--timeout", "0", "a.fg"], "--timeout"),
        (["tmin", "--timeout", "inf", "a.fg"], "--timeout"), (["tmin", "--budget", "nan", "a.fg"], "--budget"),
        (["triage", "--timeout", "nan", "."], "--timeout"), (["triage", "--jobs", "0", "."], "--jobs"),
        (["check", "--timeout", "1e300", "a.py"], "--timeout"), (["verify", "--jobs", "-1", "."], "--jobs"),
        (["regress", "--timeout", "-1"], "--timeout"), (["regress", "--junit", "/"], "--junit /"),
        (["regress", "--junit", "/none/x.xml"], "--junit"), (["regress", "--shard", "9" * 5000 + "/1"], "--shard"),
        (["grammar", "check", "--samples", "-1"], "--samples"), (["tmin", "-o", "/", "a.fg"], "/: this is a directory"),
    ],
)  # fmt: skip
def test_numbers_and_outputs_are_refused_before_any_work(cli: Cli, arguments: list[str], option: str) -> None:
    refused(cli(*arguments), 2, option)


@pytest.mark.parametrize("command", ["show", "status", "fuzz --no-llm -o", "triage", "regress", "check"])
def test_a_name_that_the_file_system_refuses_is_one_line(cli: Cli, command: str) -> None:
    refused(cli(*command.split(), "x" * 300), 2, "x" * 300)


@pytest.mark.parametrize("entry", ["@\u00b2", "@99999999999999999999999"])
def test_a_number_that_no_program_has(cli: Cli, campaign: Path, entry: str) -> None:
    refused(cli("show", f"{campaign}:{entry}"), 2, "no such entry")


@pytest.mark.parametrize(
    "content", ["[" * 100_000, "null", '{"failures": 5}', '{"failures": [{}]}', '{"preload": [5]}', '{"target": 5}']
)
def test_a_finding_whose_description_is_garbage(cli: Cli, content: str, tmp_path: Path) -> None:
    (tmp_path / "program.fg").write_text(TEXT)
    (tmp_path / "finding.json").write_text(content)
    refused(cli("show", tmp_path), 2, f"{tmp_path / 'finding.json'}: no")


def test_a_full_disk_is_the_environments(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(args: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "/there/file")

    monkeypatch.setattr("fuzzgraph.cli.commands.show.run", full)
    refused(cli("show", "a.fg"), 3, "/there/file: No space left on device")


def test_a_name_that_is_no_text_is_shown_with_escapes(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.fg"
    Path(os.fsdecode(name)).write_text(TEXT)
    done = subprocess.run(
        [sys.executable, "-m", "fuzzgraph", "show", name, name], capture_output=True, cwd=ROOT, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\udcff.fg" in done.stdout


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_matter(closed: str, tmp_path: Path) -> None:
    (tmp_path / "a.fg").write_text(TEXT)
    shell = f"{sys.executable} -m fuzzgraph show {tmp_path}/a.fg {closed}"
    done = subprocess.run(shell, shell=True, cwd=ROOT, timeout=120, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert bool(done.stdout) == (">&-" not in closed.replace("2>&-", ""))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_in_order(cli: Cli, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Ignored where the tests run in the background, or under nohup.
    signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    cleaned, before = [], signal.getsignal(number)

    def interrupted(args: object) -> int:
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        finally:
            cleaned.append(True)
        return 0

    monkeypatch.setattr("fuzzgraph.cli.commands.show.run", interrupted)
    done = cli("show", "a.fg")
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")
    assert cleaned and signal.getsignal(number) == before


def test_a_signal_that_the_caller_ignores_stays_ignored(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def hung_up(args: object) -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        return 0

    monkeypatch.setattr("fuzzgraph.cli.commands.show.run", hung_up)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert cli("show", "a.fg").returncode == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_relative_interpreter_is_found_from_where_the_user_is(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repro.py").write_text("")
    (tmp_path / "python").write_text('#!/bin/sh\n[ "$1" = -c ] && echo 2.15.0\nexit 0\n')
    (tmp_path / "python").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    done = cli("verify", ".", "--python", "./python")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "1 fixed"), done
