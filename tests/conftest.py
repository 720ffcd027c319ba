"""What all tests share. Everything else is beside the tests that need it."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# As in a campaign's workers, and so that the tests run side by side on two cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

# The first example pays for imports and caches, so a deadline says nothing; CI must not fail by chance.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Return the root of the repository."""
    return Path(__file__).resolve().parent.parent
