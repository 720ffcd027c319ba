"""Every way for a program to end a process is its own outcome, and the executor goes on."""

import time

import pytest
from programs import job, source, with_fault

pytestmark = pytest.mark.compiles


def run(executor, text, **more):
    outcome = executor.run([job(text, **more)])[0]
    assert executor.run([job(source())])[0].status == "ok", "the executor goes on"
    return outcome


@pytest.mark.parametrize(
    ("fault", "status", "code", "error"),
    [
        ("segfault", "signal", 11, "SIGSEGV"),
        ("abort", "signal", 6, "SIGABRT"),
        ("kill", "signal", 9, "SIGKILL"),
        ("damage", "signal", 6, "SIGABRT"),
        ("os_exit", "exit", 7, "Exit"),
        ("sys_exit", "exit", 5, "SystemExit"),
        ("allocate", "memory", None, "RuntimeError"),
        ("fill_memory", "memory", None, "Memory"),
        ("spin", "timeout", None, "Timeout"),
        ("sleep", "timeout", None, "Timeout"),
        ("c_hang", "timeout", None, "Timeout"),
        ("c_spin", "timeout", None, "Timeout"),
    ],
)
def test_death_of_the_compiled_program_is_a_failure(executor, fault, status, code, error):
    outcome = run(executor, with_fault(fault), timeout=3.0 if status == "timeout" else 60.0)
    assert (outcome.status, outcome.code, outcome.error.type) == (status, code, error)
    assert [(f.oracle, f.kind) for f in outcome.failures] == [("crash", status)]
    assert outcome.valid


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("import ctypes; ctypes.string_at(0)", "signal", 11),
        ("import os; os._exit(3)", "exit", 3),
        ("import sys; sys.exit()", "exit", 0),
        ("while True: pass", "timeout", None),
        ("return torch.empty(100 << 30, dtype=torch.uint8)", "memory", None),
        ("raise KeyboardInterrupt", "invalid", None),
        ("return x + torch.ones(7)", "invalid", None),
    ],
)
def test_death_of_the_reference_says_nothing_of_the_compiler(executor, body, status, code):
    outcome = run(executor, source(body), timeout=2.0)
    assert (outcome.status, outcome.stage, outcome.code) == (status, "reference", code)
    assert outcome.failures == () and outcome.error is not None and not outcome.valid


def test_a_source_that_does_not_execute_is_invalid(executor):
    outcome = run(executor, "def")
    assert (outcome.status, outcome.stage, outcome.error.type) == ("invalid", "load", "SyntaxError")
    outcome = run(executor, "import no_such_module")
    assert (outcome.status, outcome.error.type) == ("invalid", "ModuleNotFoundError")


def test_what_a_program_prints_is_kept_and_bounded(executor):
    outcome = run(executor, with_fault("print"))
    assert outcome.status == "ok"
    assert outcome.output.startswith("tick tick") and "raw stderr" in outcome.output
    assert "left out" in outcome.output and len(outcome.output) < 20_000


def test_a_program_that_prints_for_ever_stops(executor):
    outcome = run(executor, source("while True: print('x' * 1000000)"), timeout=20.0)
    assert outcome.stage == "reference" and outcome.status in ("invalid", "memory", "timeout")


@pytest.mark.parametrize("fault", ["close", "close_output"])
def test_closing_all_files_loses_no_outcome(executor, fault):
    assert run(executor, with_fault(fault)).status == "ok"


def test_a_program_that_forks_has_one_outcome_and_leaves_nothing(executor):
    before = time.monotonic()
    assert run(executor, with_fault("fork")).status == "ok"
    assert time.monotonic() - before < 20


@pytest.mark.parametrize("fault", ["interrupt", "error", "base_exception"])
def test_what_the_compiled_program_raises_is_a_failure(executor, fault):
    outcome = run(executor, with_fault(fault))
    assert outcome.status == "failure" and outcome.failures[0].kind == "exception"


def test_a_miscompile_is_found(executor):
    outcome = run(executor, with_fault("miscompile"))
    assert outcome.status == "failure" and [f.kind for f in outcome.failures] == ["value"]


def test_the_rest_of_a_batch_survives_a_death(executor):
    executor.batch = 4
    try:
        jobs = [job(source()), job(with_fault("segfault")), job(source("return x * 2")), job(with_fault("os_exit"))]
        outcomes = executor.run(jobs)
    finally:
        executor.batch = 1
    assert [o.status for o in outcomes] == ["ok", "signal", "ok", "exit"]
    assert [o.id for o in outcomes] == [j.id for j in jobs]


def test_a_segfault_says_where(executor):
    outcome = run(executor, with_fault("segfault"))
    assert "faults.py" in outcome.error.traceback
