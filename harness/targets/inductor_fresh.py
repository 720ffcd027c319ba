"""torch.compile with Inductor on the CPU in a process of its own per batch, without a fork: what a user's script sees.

Costs 10 CPU seconds a batch. For what may be due to the fork, or to what import and warm-up left behind.
"""

from ._compiled import CPU as ENVIRONMENT  # noqa: F401
from ._compiled import compiled

SPAWN = True


def wrap(kwargs):
    return compiled("inductor", kwargs)
