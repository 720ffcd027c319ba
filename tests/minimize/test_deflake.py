"""Deflake: what some runs say."""

import pytest

from fuzzgraph.minimize.deflake import deflake
from tests.minimize.small import KEY, key_of, outcome, small

TEXT = "input x: f32[4]\ndef f(x) {\n a = relu(x)\n return a\n}\ncall f(x)"


@pytest.mark.parametrize(
    ("fails", "verdict"),
    [
        ("11111", "stable"), ("11101", "flaky"), ("10101", "flaky"), ("11000", "not confirmed"),
        ("00000", "not confirmed"), ("111", "stable"), ("100", "not confirmed"),
    ],
)  # fmt: skip
def test_verdicts(fails, verdict):
    def run(programs):
        return [outcome(f == "1") for f, _ in zip(fails, programs, strict=True)]

    found = deflake(small(TEXT), run, key_of, len(fails))
    assert found.verdict(KEY) == verdict
    assert found.hits.get(KEY, 0) == fails.count("1")
    assert found.runs == len(found.outcomes) == len(fails)
    assert found.verdict("another key") == "not confirmed"


def test_a_key_counts_once_a_run_and_the_most_frequent_is_first():
    keys = iter([["rare", "a", "a"], ["a"], ["a"]])
    found = deflake(small(TEXT), lambda ps: [outcome(True)] * len(ps), lambda o, p: next(keys), 3)
    assert found.hits == {"a": 3, "rare": 1}
    assert list(found.hits) == ["a", "rare"]
