"""The region in a branch on an expression of NumPy, which Dynamo traces as torch. The argument is the expression, one
of those that are known to be true."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, form, indented


@form
class NumpyCondition(Choice):
    name = "numpy_condition"
    conditional = True
    CHOICES = dict.fromkeys([
        "np.arange(4).sum() == 6", "np.ones((2, 3)).shape == (2, 3)", "np.array([1, 2]).dtype == np.int64",
        "(np.arange(3) * 2)[-1] == 4", "np.zeros(2).ndim == 1", "np.float32(1.5) + 1 == 2.5", "np.pi > 3",
        "np.eye(2).reshape(-1).size == 4", "np.where(np.arange(3) > 1, 1, 0).max() == 1", "np.prod((2, 3)) == 6",
        "np.concatenate([np.ones(1), np.zeros(1)]).mean() == 0.5", "np.dtype('float32').itemsize == 4",
        "np.array([[1, 2], [3, 4]]).T[0, 1] == 3", "np.isfinite(np.inf) == False",
        "np.argsort(np.array([2, 1]))[0] == 1",
        "len(np.linspace(0, 1, 5)) == 5", "np.int8(127).item() == 127", "np.any(np.array([False, True]))",
    ])  # fmt: skip

    def write(self, block: Block) -> list[str]:
        return ["import numpy as np", f"if {block.args[0]}:", *indented(block.lines)]
