"""Change the script of calls: one call more (again, in a context, on other values or sizes), or one less."""

from __future__ import annotations

from random import Random

from ..generate.script import draw_call
from ..ir.builder import Rejected
from ..ir.program import Program, Ref
from ..ir.typing import find_spec
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools

MAX_CALLS = 5


@mutator("change_calls", weight=1.0)
class ChangeCalls:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        calls = edit.b.calls
        if len(calls) > 1 and (len(calls) >= MAX_CALLS or rng.random() < 0.3):
            # The first call gives parameters their types.
            del calls[rng.randrange(1, len(calls))]
            edit.drop_inputs()
            return True
        call = rng.choice(calls)
        f = edit.b.functions.get(call.function)
        if f is None or not all(isinstance(a, Ref) for a in call.args):
            raise Rejected("a call of a closure, or with literals")
        if not all(find_spec(edit.b, a.name) for a in call.args):
            raise Rejected("a call on what another one returned")
        if edit.doubtful:
            raise Rejected("a second call might find operands out of range")
        draw_call(edit.b, f, call, edit.tools.generator.fits, rng)
        return True
