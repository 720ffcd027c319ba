"""The shipped rules with real type inference, for the tests that need all of it."""

import pytest

from fuzzgraph.execution.infer import InferClient
from fuzzgraph.generate import Generator
from fuzzgraph.grammar import load_rules


@pytest.fixture(scope="session")
def generator():
    with InferClient() as infer:
        yield Generator(load_rules(), infer)
