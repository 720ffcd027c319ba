"""Which entry to mutate next: energy by how rare its features are, for what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np

from fuzzgraph.feedback.encode import Ids
from fuzzgraph.feedback.novelty import Novelty

# A feature that more entries have than this says little about any of them (it adds at most 1/32), and leaving
# it out keeps a few dozen ids an entry in memory instead of twenty thousand.
RARE = 32
# Energies are computed anew when the corpus has grown by this factor: owners of a feature change slowly, and the
# cost of all such passes together stays in proportion to the last one.
GROWTH = 1.05
# An entry of ten times the usual cost gets a tenth of the energy, no less: a slow entry may be the only way in.
COST_SPAN = 10.0


@dataclass
class _Slot:
    id: int
    rare: Ids
    cost: float
    picks: int


class Scheduler:
    """Energy of entry i: sum over its features f of 1 / owners(f), over its relative cost, over sqrt(1 + picks).

    A pure function of the entries added in order, their picks, and the random streams given, so a resumed campaign
    that adds the stored entries again picks as the first one would have. Cost is CPU seconds, or the node count
    where a campaign must not depend on the clock: the caller says which by what it passes to `add`.
    """

    def __init__(self, novelty: Novelty) -> None:
        self._novelty = novelty
        self._slots: list[_Slot] = []
        self._energy = np.zeros(0)
        self._refreshed_at = 0
        self._dirty: set[int] = set()

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, entry: int, features: Ids, cost: float, picks: int = 0) -> None:
        """Take in an entry whose features have been counted in the novelty (`own`)."""
        owners = self._novelty.owners(features)
        self._slots.append(_Slot(entry, features[owners <= RARE], max(cost, 1e-3), picks))
        if len(self._slots) > self._refreshed_at * GROWTH:
            self._refresh()
        else:
            self._energy = np.append(self._energy, self._energy_of(self._slots[-1]))

    def _refresh(self) -> None:
        self._refreshed_at = len(self._slots)
        self._energy = np.array([self._energy_of(slot) for slot in self._slots])

    def _energy_of(self, slot: _Slot) -> float:
        owners = self._novelty.owners(slot.rare)
        rarity = float(np.sum(1.0 / np.maximum(owners, 1))) + 1.0
        cost = min(max(slot.cost / self._usual_cost(), 1 / COST_SPAN), COST_SPAN)
        return rarity / cost / math.sqrt(1 + slot.picks)

    def _usual_cost(self) -> float:
        # Of the entries up to the last refresh, so that it moves only there.
        costs = sorted(slot.cost for slot in self._slots[: self._refreshed_at])
        return costs[len(costs) // 2] if costs else 1.0

    def pick(self, rng: Random) -> int:
        """Return the id of an entry, drawn by energy, and count the pick. There must be an entry."""
        totals = np.cumsum(self._energy)
        index = min(int(np.searchsorted(totals, rng.random() * totals[-1], side="right")), len(totals) - 1)
        slot = self._slots[index]
        self._energy[index] *= math.sqrt((1 + slot.picks) / (2 + slot.picks))
        slot.picks += 1
        self._dirty.add(index)
        return slot.id

    def other(self, rng: Random) -> int:
        """Return the id of any entry, each as likely, without counting it as picked (for splicing)."""
        return self._slots[rng.randrange(len(self._slots))].id

    def take_picks(self) -> dict[int, int]:
        """Picks of the entries picked since last asked, by entry id."""
        changed = {self._slots[i].id: self._slots[i].picks for i in sorted(self._dirty)}
        self._dirty.clear()
        return changed

    def energies(self) -> dict[int, float]:
        return {slot.id: float(e) for slot, e in zip(self._slots, self._energy)}


def cost_of(deterministic: bool) -> Callable[[float, int], float]:
    """(CPU seconds, nodes) -> the cost that the campaign goes by."""
    return (lambda cpu, nodes: float(nodes + 1)) if deterministic else (lambda cpu, nodes: cpu)
