"""What to do with a program after an execution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .task import Purpose, Task

# Statuses after which there is something to confirm.
BAD = ("failure", "timeout", "signal", "exit", "memory")
# What a program costs by tier where the clock must not decide, in CPU seconds (measured: coverage only 0.3, compared
# with others 0.6 and alone 1.4).
NOMINAL = {"cover": 0.3, "compare": 0.7, "confirm": 1.4}


@dataclass
class Spending:
    """Keeps the share of CPU that goes to compared programs at `share`, by sampling programs that bring nothing new."""

    share: float
    deterministic: bool
    cover: float = 0.0
    compare: float = 0.0

    def spent(self, purpose: Purpose, cpu: float) -> None:
        cost = NOMINAL[purpose] if self.deterministic else cpu
        if purpose == "cover":
            self.cover += cost
        else:
            self.compare += cost

    def sample(self) -> bool:
        """Whether the next program without news is compared all the same."""
        return self.compare < self.share * (self.cover + self.compare)

    def promise(self) -> None:
        """A compared execution is to come: count its usual cost at once, so that a batch does not all sample."""
        self.compare += NOMINAL["compare"]

    def settle(self, cpu: float) -> None:
        """A promised execution came in: replace its usual cost by the true one."""
        self.compare -= NOMINAL["compare"]
        self.spent("compare", cpu)

    def state(self) -> list[float]:
        return [self.cover, self.compare]

    def restore(self, state: Any) -> None:
        if state:
            self.cover, self.compare = state


def after_cover(status: str, new: int, suspects: tuple[str, ...], known: bool, sample: bool) -> Purpose | None:
    """The next purpose of a program that was executed for cover, None if it is done with.

    A failure is compared unless all that it shows is `known`: a bug that many programs hit must not eat the campaign.
    """
    if status in BAD:
        return None if suspects and known else "compare"
    if status in ("ok", "unstable") and (new or sample):
        return "compare"
    return None


def after_compare(status: str, suspects: tuple[str, ...], known: bool) -> Purpose | None:
    """The next purpose of a program that was compared, None if it is done with."""
    return "confirm" if status in BAD and suspects and not known else None


def confirmed(task: Task, signatures: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the signatures that an earlier execution of the program gave too."""
    return tuple(s for s in signatures if s in task.suspects)
