"""torch.compile with Inductor: C++ kernels on the CPU."""

from ._compiled import CPU as ENVIRONMENT  # noqa: F401
from ._compiled import compiled


def wrap(kwargs):
    return compiled("inductor", kwargs)
