"""As aot_eager, with Inductor's decompositions and the partitioner: tells their faults from those of its lowerings."""

from ._compiled import CPU as ENVIRONMENT  # noqa: F401
from ._compiled import compiled


def wrap(kwargs):
    return compiled("aot_eager_decomp_partition", kwargs)
