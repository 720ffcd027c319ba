"""What a finding's script compares: no more than what failed, and no less."""

import pytest

from fuzzgraph.execution.protocol import Failure
from fuzzgraph.render.standalone import ALL
from fuzzgraph.triage.reproducer import checks_for


@pytest.mark.parametrize("oracle", ["value", "guard", "randomness"])
def test_the_sign_of_zero_is_looked_at_where_it_failed(oracle: str) -> None:
    assert checks_for([Failure(oracle, "zero_sign")]).zero_sign
    assert not checks_for([Failure(oracle, "value")]).zero_sign


@pytest.mark.parametrize("oracle", ["metadata", "guard"])
@pytest.mark.parametrize("kind", ["conj", "neg"])
def test_lazy_bits_are_looked_at_where_they_failed(oracle: str, kind: str) -> None:
    assert checks_for([Failure(oracle, kind)]).bits


def test_a_crash_beside_it_narrows_nothing() -> None:
    assert checks_for([Failure("crash", "exception")]) == ALL
    found = checks_for([Failure("crash", "exception"), Failure("gradient", "value")])
    assert found.parts == ("gradients",)
