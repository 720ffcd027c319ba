"""Python around a program's operators: state, helper functions, closures, modules, gradients inside, arguments.

Each change keeps what the operators compute: a value goes through a list or a helper, a literal becomes an argument.
What it makes harder is the compiler's part: side effects, inlining, guards on closures and numbers, aliases between
inputs. A change raises Rejected, and leaves the builder as it was, where the function has no place for it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from ..numbers import Numbers
from ..profile import pick
from .arguments import pass_number, pass_twice, read_number
from .gradients import differentiate
from .helpers import call_helper, hold_in_transform
from .holders import apply_layer, close_over_number, hold_constants
from .state import keep_in_object, keep_in_state

Change = Callable[[Numbers, Random], None]

CHANGES: tuple[tuple[Change, float], ...] = (
    (keep_in_state, 5.0), (keep_in_object, 1.0), (call_helper, 6.0), (hold_in_transform, 2.0), (hold_constants, 2.0),
    (close_over_number, 2.0), (apply_layer, 3.0), (pass_number, 3.0), (read_number, 3.0), (pass_twice, 6.0),
    (differentiate, 3.0),
)  # fmt: skip
# Few programs have an input that requires grad: there, its gradient is as likely as all else.
SCARCE = 6.0


def surround(numbers: Numbers, rng: Random) -> None:
    """One of the changes, of a function that nothing but the script calls. Raises Rejected."""
    b = numbers.b
    grad = SCARCE * any(s.type.requires_grad for s in b.inputs)
    changes = [(change, weight * grad if change is differentiate else weight) for change, weight in CHANGES]
    pick(changes, rng)(numbers, rng)
    b.stale = True
