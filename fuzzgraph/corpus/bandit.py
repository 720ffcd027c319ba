"""Which mutator to use next: by weight, times what each brought lately."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

# How much each use fades the past. 0.998: half of what is remembered is from the last 350 uses.
FADE = 0.998
# A mutator counts as an average one until it has cost about as much as this many average uses.
PRIOR = 20.0
# No mutator is ever used less than a quarter or more than four times as often as its weight says: what pays
# changes in a campaign, and one that is never tried cannot show it.
SPAN = 4.0
# One use that opens a whole new part of the compiler (hundreds of lines) must not decide the rest of the campaign.
MOST = 50


@dataclass
class _Arm:
    weight: float
    gain: float = 0.0
    cost: float = 0.0


class Bandit:
    """Chance of an arm: weight * clip(its new features per cost / the mean's, 1/4, 4). Restorable."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._arms = {name: _Arm(weight) for name, weight in sorted(weights.items())}

    def choose(self, rng: Random, exclude: Iterable[str] = ()) -> str | None:
        """Return an arm's name, None if all are excluded."""
        left_out = set(exclude)
        chances = {name: c for name, c in self.chances().items() if name not in left_out and c > 0}
        if not chances:
            return None
        return rng.choices(list(chances), list(chances.values()))[0]

    def chances(self) -> dict[str, float]:
        """Relative chance of each arm."""
        gain = sum(arm.gain for arm in self._arms.values())
        cost = sum(arm.cost for arm in self._arms.values())
        if gain <= 0 or cost <= 0:
            return {name: arm.weight for name, arm in self._arms.items()}
        mean = gain / cost
        # `cost` is a fading sum, of about 1 / (1 - FADE) uses.
        prior = PRIOR * cost * (1 - FADE)
        return {
            name: arm.weight * min(max((arm.gain + prior * mean) / (arm.cost + prior) / mean, 1 / SPAN), SPAN)
            for name, arm in self._arms.items()
        }

    def reward(self, chain: Iterable[str], new: int, cost: float) -> None:
        """A program made by `chain` cost `cost` and showed `new` features; its mutators share both alike."""
        names = [name for name in chain if name in self._arms]
        for arm in self._arms.values():
            arm.gain *= FADE
            arm.cost *= FADE
        for name in names:
            self._arms[name].gain += min(new, MOST) / len(names)
            self._arms[name].cost += cost / len(names)

    def state(self) -> dict[str, list[float]]:
        return {name: [arm.gain, arm.cost] for name, arm in self._arms.items()}

    def restore(self, state: Mapping[str, list[float]] | None) -> None:
        """Take up `state`; arms that it lacks or that are gone are left as they are."""
        for name, (gain, cost) in (state or {}).items():
            if name in self._arms:
                self._arms[name].gain, self._arms[name].cost = gain, cost
