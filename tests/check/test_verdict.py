"""One word and one sentence for each kind of outcome."""

import pytest

from fuzzgraph.check.source import read
from fuzzgraph.check.verdict import Verdict, leading, rank, verdict
from fuzzgraph.execution.protocol import ErrorInfo, Failure, Outcome

CHECKED = read("def make_inputs(): pass\ndef f(): pass\n", "a.py")
SIGNS = read("SIGNBIT = True\ndef make_inputs(): pass\ndef f(): pass\n", "a.py")
ERROR = ErrorInfo("ValueError", "no\n  good")
VALUE = Failure("value", "value", "run", "values differ (f32)", "output of call 0: 1 of 2 elements differ")
ZERO = Failure("value", "zero_sign", "run", "sign of zero (f32)", "output of call 0: 1 of 2 zeros")
STRIDE = Failure("metadata", "stride", "run", "strides differ", "output of call 0: eager [1], compiled [2]")
CRASH = Failure("crash", "exception", "inductor", "it broke", "Traceback", ("a.py:f",), "AssertionError")
DEATH = Failure("crash", "signal", "subject", "killed by SIGSEGV", "", (), "SIGSEGV")
HANG = Failure("crash", "timeout", "subject", "ran past its time limit", "", (), "Timeout")
TYPE = Failure("missed_error", "error_type", "run", "A became B", "eager raises A: x; compiled: B: y")


def of(status, *failures, stage="done", error=None, missed=False, checked=CHECKED):
    return verdict("a.py", checked, Outcome("id", status, stage, failures, error, missed=missed), 5.0)


@pytest.mark.parametrize(
    ("found", "word", "line"),
    [
        (of("ok"), "same", "a.py: same"),
        (of("failure", ZERO), "same", "a.py: same"),
        (of("failure", ZERO, checked=SIGNS), "diverges",
         "a.py: value zero_sign: sign of zero (f32): output of call 0: 1 of 2 zeros"),
        (of("failure", STRIDE, VALUE), "diverges", "a.py: value: output of call 0: 1 of 2 elements differ"),
        (of("failure", STRIDE, ZERO), "diverges",
         "a.py: metadata stride: strides differ: output of call 0: eager [1], compiled [2]"),
        (of("failure", CRASH, error=ErrorInfo("AssertionError", "it broke")), "diverges",
         "a.py: crash exception: compiled code does not run (inductor): AssertionError: it broke"),
        (of("signal", DEATH, stage="subject"), "diverges", "a.py: crash signal: killed by SIGSEGV"),
        (of("timeout", HANG, stage="subject"), "timeout",
         "a.py: crash timeout: eager ends, compiled code does not within 5 s"),
        (of("timeout", stage="reference"), "timeout", "a.py: timeout: eager does not end within 5 s"),
        (of("timeout", stage="judge"), "timeout",
         "a.py: timeout: the runs that judge the result do not end within 5 s"),
        (of("failure", TYPE, missed=True), "error-type", "a.py: error-type: eager raises A: x; compiled: B: y"),
        (of("invalid", stage="reference", error=ERROR, missed=True), "same",
         "a.py: same: both raise ValueError: no good"),
        (of("invalid", stage="reference", error=ERROR), "invalid",
         "a.py: invalid: eager does not run: ValueError: no good"),
        (of("invalid", stage="reference", error=ErrorInfo("FuzzgraphNoJudge", "why")), "invalid", "a.py: invalid: why"),
        (of("signal", stage="reference", error=ErrorInfo("SIGSEGV", "killed by SIGSEGV")), "invalid",
         "a.py: invalid: eager does not run: SIGSEGV: killed by SIGSEGV"),
        (of("lost", stage="harness", error=ErrorInfo("HarnessFault", "why")), "invalid",
         "a.py: invalid: the harness failed: why"),
        (of("unstable", error=ErrorInfo("Unstable", "an ulp")), "same", "a.py: same: eager is no judge: an ulp"),
    ],
)  # fmt: skip
def test_verdicts(found, word, line):
    assert (found.verdict, found.line) == (word, line)
    assert found.found == (found.line.startswith(("a.py: value", "a.py: metadata", "a.py: crash")))
    assert found.unjudged == (found.line.startswith(("a.py: invalid", "a.py: timeout")))


def test_the_rung_is_in_the_line_and_in_the_data():
    found = Verdict("a.py", "diverges", "it differs", VALUE, "decomp")
    assert found.line == "a.py: value, decomp: it differs"
    assert found.to_data() == {
        "file": "a.py", "verdict": "diverges", "oracle": "value", "rung": "decomp", "detail": "it differs",
    }  # fmt: skip
    assert of("ok").to_data() == {"file": "a.py", "verdict": "same", "oracle": None, "rung": None, "detail": ""}


def test_a_sentence_is_one_line_of_bounded_length():
    long = of("failure", Failure("value", "value", "run", "m", "word\n" * 200))
    assert len(long.detail) == 300 and "\n" not in long.line


def test_every_oracle_has_its_rank():
    from fuzzgraph import oracles

    known = [rank(Failure(name, "any", "run", "", "")) for name in oracles.names()]
    assert max(known) < rank(Failure("unheard of", "any", "run", "", ""))
    assert leading([]) is None and leading([STRIDE, CRASH, VALUE]) is CRASH
