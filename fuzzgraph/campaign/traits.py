"""How many of a campaign's programs that compiled have each trait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fuzzgraph.ir.program import Program

from .events import Event, Executed
from .tally import Tally

if TYPE_CHECKING:
    from fuzzgraph.execution.protocol import Outcome

COMPILED = "compiled"
PREFIX = "trait/"
# A trait of fewer programs is as good as none: a campaign of an hour meets it a dozen times.
SHARE = 0.002
# Of these the compiler made something that ran.
RAN = ("ok", "unstable", "failure")


class TraitCounter:
    """Subscribes to the events: counts programs that compiled, once each, and the traits that `describe` says they
    have. Counters: `compiled`, `trait/GROUP/NAME`. Programs that are made to raise count for their traits' sake
    only, in `trait/option/expects_error`.
    """

    def __init__(self, tally: Tally, describe: Callable[[Program], Iterable[str]]) -> None:
        self._tally, self._describe = tally, describe

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Executed) or not event.task.first:
            return
        program = event.task.program
        if program.options.expects_error:
            if event.outcome.status != "lost":
                self._tally.add(f"{PREFIX}option/expects_error")
        elif compiled(event.outcome):
            self._tally.add(COMPILED)
            for trait in self._describe(program):
                self._tally.add(PREFIX + trait)


def compiled(outcome: Outcome) -> bool:
    """Whether the reference ran and the compiler got through the program."""
    return outcome.valid and outcome.status in RAN and all(f.oracle != "crash" for f in outcome.failures)


@dataclass(frozen=True)
class Shares:
    """`counts` is group -> name -> programs with that trait, of `compiled` programs in all."""

    compiled: int
    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    def share(self, group: str, name: str) -> float:
        return self.counts[group][name] / self.compiled if self.compiled else 0.0

    @property
    def rare(self) -> list[str]:
        """Traits of less than SHARE of the programs, as `group: name`."""
        return [f"{g}: {n}" for g, names in self.counts.items() for n in names if self.share(g, n) < SHARE]

    def completed(self, known: Mapping[str, Iterable[str]]) -> Shares:
        """With all traits that there are, in their order; those that are counted and no longer known come last."""
        whole = {group: dict.fromkeys(names, 0) for group, names in known.items()}
        for group, names in self.counts.items():
            whole.setdefault(group, {}).update(names)
        return Shares(self.compiled, whole)


def text(shares: Shares) -> str:
    """Several lines for people: the share of each trait, then those that stand below what they should."""
    lines = [f"  traits of the {shares.compiled:,} programs that compiled:"]
    for group, names in shares.counts.items():
        lines += _wrapped(group, [f"{name} {shares.share(group, name):.1%}" for name in names])
    rare = shares.rare
    lines += _wrapped(f"below {SHARE:.1%}", rare) if rare else [f"  all of them have at least {SHARE:.1%}"]
    return "\n".join(lines)


def _wrapped(title: str, items: list[str], width: int = 110) -> list[str]:
    lines, line = [], f"    {title:<11}"
    for number, item in enumerate(items):
        more = item + ("," if number + 1 < len(items) else "")
        if len(line) + len(more) > width:
            lines.append(line.rstrip())
            line = " " * 15
        line += more + " "
    return [*lines, line.rstrip()]
