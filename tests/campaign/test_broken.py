"""What a campaign does with programs that are made to raise, and with oracles that are asked of a share of programs."""

from dataclasses import replace
from random import Random

import pytest

from fuzzgraph import oracles
from fuzzgraph.campaign.config import Config, checked, split_oracles
from fuzzgraph.campaign.events import Executed
from fuzzgraph.campaign.loop import Campaign
from fuzzgraph.campaign.parts import JobMaker, Reproducer
from fuzzgraph.campaign.supply import Candidate
from fuzzgraph.campaign.tally import Tally
from fuzzgraph.campaign.task import Origin, Task
from fuzzgraph.errors import UsageError
from fuzzgraph.execution.protocol import Failure, Outcome
from fuzzgraph.ir.hash import content_hash
from tests.campaign.fakes import program

BROKEN = program().with_options(expects_error=True)


def task(of, purpose="compare"):
    return Task(1, of, content_hash(of), Origin("mutate", mutators=("break_precondition",)), purpose)


def test_they_count_as_neither_valid_nor_invalid():
    tally = Tally()
    for of, status, stage in (
        (program(), "ok", "done"), (program(), "invalid", "reference"), (BROKEN, "invalid", "reference"),
        (BROKEN, "ok", "done"), (BROKEN, "failure", "run"),
    ):  # fmt: skip
        tally(Executed(task(of), Outcome("1", status, stage), 0, True))
    counts = {name: tally[name] for name in ("programs", "valid", "invalid", "broken")}
    assert counts == {"programs": 5, "valid": 1, "invalid": 1, "broken": 3}
    assert tally.valid_share == 0.5
    assert tally["mutator/break_precondition/invalid"] == 1


def test_their_jobs():
    job = JobMaker(Config(), None)(task(BROKEN))
    assert job.expects_error and set(job.plans) == {"crash", "missed_error"}
    assert job.plans["crash"] == {"exceptions": False}
    plain = JobMaker(Config(), None)(task(program()))
    assert not plain.expects_error and "missed_error" not in plain.plans


def test_they_are_judged_at_once():
    assert Campaign._first_purpose(Candidate(Origin("mutate"), BROKEN)) == "compare"
    assert Campaign._first_purpose(Candidate(Origin("mutate"), program())) == "cover"


def test_their_reproducer_asks_for_the_error():
    failure = Failure("missed_error", "missed")
    text = Reproducer(None)(task(BROKEN), Outcome("1", "failure", failures=(failure,)), "t")
    assert "def missed():" in text and "raises_alike" in text
    compile(text, "repro.py", "exec")


def test_a_reproducer_shows_the_variant_that_failed():
    failure = Failure("guard", "value", variant="other size")
    asked = []

    def variant(of, key):
        asked.append((of, key))
        return program(size=7)

    text = Reproducer(None, variant)(task(program()), Outcome("1", "failure", failures=(failure,)), "t")
    assert asked == [(program(), "other size")] and "(7,)" in text


def test_expensive_oracles_are_asked_of_a_share():
    made = [program(size=n) for n in range(2, 202)]
    maker = JobMaker(Config(expensive_share=0.2), None)
    asked = [("equivalence" in maker(task(p)).plans) for p in made]
    assert 20 < sum(asked) < 60
    assert asked == [("equivalence" in maker(task(p, "confirm")).plans) for p in made]
    assert all("value" in maker(task(p)).plans for p in made)
    assert not any("equivalence" in JobMaker(Config(expensive_share=0.0), None)(task(p)).plans for p in made)


def test_named_oracles_only():
    job = JobMaker(Config(oracles=("value", "crash")), None)(task(program()))
    assert set(job.plans) == {"value", "crash"}
    assert set(JobMaker(Config(oracles=("value",)), None)(task(program(), "cover")).plans) == {"crash"}


def test_names_of_oracles():
    assert split_oracles("value, crash") == ("value", "crash")
    with pytest.raises(UsageError, match="no oracle 'speed'") as caught:
        split_oracles("value,speed")
    assert all(name in caught.value.hint for name in oracles.names())
    with pytest.raises(UsageError, match="no oracle"):
        checked(replace(Config(), oracles=("speed",)))


def test_a_chain_of_mutators_ends_there(monkeypatch):
    from fuzzgraph.campaign.supply import Supply

    calls = []

    class Chosen(Supply):
        def __init__(self):
            pass

        def _apply(self, name, of, rng):
            calls.append(name)
            return BROKEN

    supply = Chosen()
    entries = type("E", (), {"pick": lambda s, rng: 1, "program": lambda s, e: program(), "hash": lambda s, e: "h"})()
    clock = type("C", (), {"section": lambda s, name: __import__("contextlib").nullcontext()})()
    bandit = type("B", (), {"choose": lambda s, rng, declined: "break_precondition"})()
    supply._clock, supply._scheduler, supply._library, supply.bandit = clock, entries, entries, bandit
    monkeypatch.setattr("fuzzgraph.campaign.supply.STACK", ((3, 1.0),))
    found = supply._mutated(Random(0))
    assert calls == ["break_precondition"] and found.program is BROKEN


def test_kernels_go_with_programs_that_are_compared_as_usual() -> None:
    maker, kernels = JobMaker(Config(), None), ((("float*",), "source"),)
    waiting = replace(task(program()), purpose="compare", kernels=kernels)
    assert maker(waiting).kernels == kernels
    assert maker(replace(waiting, purpose="confirm")).kernels == ()
    # A few hold it against torch's own way, and some settings change how kernels are compiled.
    assert maker(replace(waiting, hash="0" * 40)).kernels == ()
    scalar = program().with_options(config=(("inductor.cpp.simdlen", 1),))
    assert maker(replace(waiting, program=scalar)).kernels == ()
