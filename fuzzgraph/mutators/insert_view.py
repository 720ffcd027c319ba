"""Insert a view of a value before one of its uses; where the user no longer fits, the view is brought back to shape."""

from __future__ import annotations

from random import Random

from ..ir.builder import Rejected
from ..ir.program import Program
from . import mutator
from ._edit import Edit, attempt
from ._grow import grow, tensor_results
from ._uses import replace_use, uses
from .tools import Tools


@mutator("insert_view", weight=1.5)
class InsertView:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        rules = [r for r in edit.tools.book.rules.values() if r.alias is not None and not r.alias.maybe]
        rules = [r for r in rules if "inplace" not in r.tags]
        if not rules:
            raise Rejected("no rule is a view")
        f, user, value = rng.choice(uses(edit))
        results = tensor_results(f, grow(edit, f, user, value, rng, rules))
        if not results:
            raise Rejected("no tensor made")
        replace_use(f, user, value, rng.choice(results))
        return True
