"""One executor for all tests of this folder: starting one takes 10 CPU seconds and more."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fuzzgraph.execution.executor import Executor

FAULTS = Path(__file__).parent / "faults.py"


@pytest.fixture(scope="session")
def executor():
    """One zygote that has the planted faults preloaded."""
    with Executor(preload=[FAULTS], memory=2 << 30) as running:
        running.start()
        yield running
