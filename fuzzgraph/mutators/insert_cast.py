"""Insert a cast before one use of a value, or before all."""

from __future__ import annotations

from random import Random

import torch.fx as fx

from ..generate.fit import castable
from ..generate.inputs import DTYPE_WEIGHTS, draw_dtype
from ..ir.builder import FunctionBuilder, Rejected
from ..ir.program import Program, type_of
from ..ir.types import DTYPES, TensorType
from . import mutator
from ._edit import Edit, attempt
from ._uses import replace_use, uses
from .tools import Tools


@mutator("insert_cast", weight=1.0)
class InsertCast:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        f, user, value = rng.choice(uses(edit))
        kind = type_of(value)
        assert isinstance(kind, TensorType)
        allowed = [d for d in DTYPE_WEIGHTS if d != kind.dtype and castable(kind.dtype, d)]
        cast = self._cast(edit, f, value, draw_dtype(allowed, rng), user, rng)
        if rng.random() < 0.3:
            # There and back: rounds, and in the compiler may be dropped by mistake.
            cast = self._cast(edit, f, cast, kind.dtype, user, rng) if castable(_dtype(cast), kind.dtype) else cast
        replace_use(f, user, value, cast)
        edit.b.stale = True
        return True

    def _cast(
        self, edit: Edit, f: FunctionBuilder, value: fx.Node, dtype: str, user: fx.Node | None, rng: Random
    ) -> fx.Node:
        found = edit.adapters.apply("cast", f, rng, user, x=value, dtype=DTYPES[dtype].torch_dtype)
        if found is None:
            raise Rejected("no cast applies")
        return found


def _dtype(node: fx.Node) -> str:
    kind = type_of(node)
    assert isinstance(kind, TensorType)
    return kind.dtype
