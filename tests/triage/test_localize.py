"""Ladder, ablation and bisection with an executor that answers from a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from fuzzgraph.execution.protocol import ErrorInfo, Failure, Job, Outcome
from fuzzgraph.triage.ablation import FAILS, GONE, NOT_HERE, OTHER, Row, Setting, ablate
from fuzzgraph.triage.bisection import TRIALS, Bisection, bisect
from fuzzgraph.triage.ladder import find_rung, ladder
from fuzzgraph.triage.matching import Shows
from fuzzgraph.triage.node import first_node

WRONG = Failure("value", "value", "run", "values differ", "detail")
CRASH = Failure("crash", "exception", "inductor", "no such thing", "trace", ("_inductor/ir.py:f",), "KeyError")
SAME = Shows(WRONG)
JOB = Job("a", "source", options={"dynamic": True, "config": {"inductor.freezing": True}})


def outcome(job: Job, *failures: Failure, **more: object) -> Outcome:
    return Outcome(job.id, "failure" if failures else "ok", failures=failures, **more)  # type: ignore[arg-type]


def runner(answer: Callable[[Job], Outcome]) -> Callable[[Sequence[Job]], list[Outcome]]:
    return lambda jobs: [answer(job) for job in jobs]


@pytest.mark.parametrize(
    ("failing", "rung"),
    [
        (("inductor",), "inductor"),
        (("aot-eager-decomp-partition", "inductor"), "decomp"),
        (("aot-eager", "aot-eager-decomp-partition", "inductor"), "aot"),
        (("eager", "aot-eager", "aot-eager-decomp-partition", "inductor"), "dynamo"),
        (("identity", "eager"), "eager"),
        ((), ""),
    ],
)
def test_the_rung_is_the_first_that_shows_it(failing: tuple[str, ...], rung: str) -> None:
    found = find_rung(runner(lambda job: outcome(job, *[WRONG] * (job.target in failing))), JOB, SAME)
    assert found.name == rung
    assert [step.target for step in found.steps] == [target for _, target in ladder("inductor")]


def test_another_failure_is_no_rung() -> None:
    found = find_rung(runner(lambda job: outcome(job, WRONG if job.target == "inductor" else CRASH)), JOB, SAME)
    assert found.name == "inductor"
    assert found.steps[1].what == "KeyError: no such thing"


def test_what_cannot_be_tried_says_so() -> None:
    def answer(job: Job) -> Outcome:
        if job.target == "aot-eager":
            return Outcome(job.id, "lost", "harness", error=ErrorInfo("TargetUnavailable", "no torch"))
        return outcome(job, *[WRONG] * (job.target == "inductor"))

    steps = find_rung(runner(answer), JOB, SAME).steps
    assert [step.shows for step in steps] == [False, False, None, False, True]


def test_fake_tensors_are_a_rung_of_their_own() -> None:
    fake = Failure("fake", "dtype", "fake", "int64 became float32")
    assert find_rung(runner(lambda job: outcome(job, fake)), JOB, Shows(fake)).name == "fake"


@pytest.mark.parametrize(
    ("target", "rungs"),
    [
        ("aot-eager", ["eager", "dynamo", "aot"]),
        ("inductor-cuda", ["eager", "inductor-cuda"]),
        ("inductor-fresh", ["eager", "dynamo", "aot", "decomp", "inductor", "inductor-fresh"]),
    ],
)
def test_other_targets_have_ladders_of_their_own(target: str, rungs: list[str]) -> None:
    assert [rung for rung, _ in ladder(target)] == rungs


SETTINGS = (
    Setting("dynamic=True", {"dynamic": True}),
    Setting("dynamic=False", {"dynamic": False}),
    Setting("freezing=True", config={"inductor.freezing": True}),
    Setting("simdlen=1", config={"inductor.cpp.simdlen": 1}, note="scalar code"),
    Setting("cpp_wrapper=True", config={"inductor.cpp_wrapper": True}),
    Setting("gone_setting=1", config={"inductor.gone_setting": 1}),
)


def test_ablation() -> None:
    def answer(job: Job) -> Outcome:
        config = job.options["config"]
        assert config["inductor.freezing"] is True  # the job's own settings stay
        if "inductor.gone_setting" in config:
            return Outcome(job.id, "invalid", "reference", error=ErrorInfo("OptionError", "no setting"))
        if "inductor.cpp.simdlen" in config:
            return outcome(job)
        return outcome(job, CRASH if "inductor.cpp_wrapper" in config else WRONG)

    assert ablate(runner(answer), JOB, SAME, SETTINGS) == [
        Row("dynamic=False", FAILS),
        Row("simdlen=1", GONE, "scalar code"),
        Row("cpp_wrapper=True", OTHER, "KeyError: no such thing"),
        Row("gone_setting=1", NOT_HERE, "this torch has no such setting"),
    ]


def test_bisection_asks_for_what_was_seen_and_reads_the_answer() -> None:
    asked: list[Job] = []

    def answer(job: Job) -> Outcome:
        asked.append(job)
        report = {"backend": "inductor", "subsystem": "lowerings", "count": 3, "info": "minimum_1"}
        return Outcome(job.id, "ok", report={**report, "trials": 9, "other": 0})

    found = bisect(runner(answer), JOB, [CRASH])
    assert asked[0].tier == "bisect"
    assert asked[0].timeout == TRIALS * JOB.timeout
    assert asked[0].search == {"wanted": [["crash", "exception", "KeyError"]], "limit": JOB.timeout}
    assert found == Bisection("inductor", "lowerings", 3, "minimum_1")
    assert found.text == "inductor / lowerings / minimum_1 (application 3)"
    assert found.key == "inductor lowerings minimum"


def test_no_answer_says_why() -> None:
    found = bisect(runner(lambda job: Outcome(job.id, "ok", report={"problem": "this torch has none"})), JOB, [CRASH])
    assert (found.backend, found.text) == ("", "no answer: this torch has none")
    died = bisect(runner(lambda job: Outcome(job.id, "timeout", error=ErrorInfo("Timeout", "too long"))), JOB, [CRASH])
    assert died.note == "too long"


NODE = {
    "graph": "aot", "direction": "forward", "node": "add_", "operator": "add_", "line": "v.add_(1)", "what": "2 differ",
}  # fmt: skip


def test_a_node_is_looked_for_where_values_tell() -> None:
    asked: list[Job] = []

    def answer(job: Job) -> Outcome:
        asked.append(job)
        return Outcome(job.id, "ok", report=dict(NODE))

    found = first_node(runner(answer), JOB, WRONG, "aot")
    assert (asked[0].tier, asked[0].search) == ("nodes", {"limit": JOB.timeout})
    assert found.text.startswith("`add_` of `v.add_(1)` (forward; Dynamo's graph against")
    stride = Failure("metadata", "stride", "run", "strides differ")
    for failure, rung in ((stride, "inductor"), (WRONG, "dynamo"), (WRONG, "eager"), (WRONG, "")):
        assert first_node(runner(answer), JOB, failure, rung).graph == ""
    assert len(asked) == 1
    for oracle, kind in (("aliasing", "mutation"), ("metadata", "dtype"), ("metadata", "shape")):
        assert first_node(runner(answer), JOB, Failure(oracle, kind, "run", "wrong"), "inductor").graph == "aot"


def test_no_node_says_why() -> None:
    late = ErrorInfo("Timeout", "late")
    died = first_node(runner(lambda job: Outcome(job.id, "timeout", error=late)), JOB, CRASH, "aot")
    assert died.text == "no answer: late"
