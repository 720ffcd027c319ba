"""Which operators stay in a dtype: called on tensors of it, they give it back."""

from __future__ import annotations

from random import Random

from ..grammar.model import Frame
from ..grammar.rule import Rule
from ..grammar.wants import Want
from ..ir.types import TensorType, tensor

# Calls that are drawn of a rule before it is judged: attributes such as dtype= may take one elsewhere.
DRAWS = 3
SHAPE = (2, 3)


class _Alike:
    """Operands that are all of one dtype and, where it fits, of one shape. They stand for themselves."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def tensor(self, want: Want, rng: Random) -> tuple[TensorType, TensorType] | None:
        if self.dtype not in want.dtypes:
            return None
        kind = tensor(self.dtype, SHAPE if want.shape.fits(SHAPE) else want.shape.draw(rng))
        return (kind, kind) if want.problem(kind) is None else None

    def function(self, frame: Frame, rng: Random) -> None:
        return None


def keeps(rule: Rule, dtype: str) -> bool:
    """Whether most calls of a rule on tensors of a dtype give that dtype; False where it takes none, and where the
    rule leaves its result to inference. A function of its arguments alone."""
    rng, kept, drawn = Random(f"{rule.op} {dtype}"), 0, 0
    for _ in range(DRAWS):
        draft = rule.sample(_Alike(dtype), rng)
        if draft is None:
            continue
        drawn += 1
        results = rule.results(draft.args, dict(draft.kwargs))
        kept += bool(results) and all(name == dtype for name, _ in results or ())
    return kept > drawn / 2
