from __future__ import annotations

import json
from collections import Counter
from random import Random

from fuzzgraph.corpus.bandit import SPAN, Bandit
from fuzzgraph.corpus.schedule import Scheduler, cost_of
from fuzzgraph.feedback.encode import as_ids
from fuzzgraph.feedback.novelty import Novelty


def grown(sets: list[list[int]], costs: list[float] | None = None, picks: dict[int, int] | None = None) -> Scheduler:
    novelty = Novelty()
    scheduler = Scheduler(novelty)
    for number, ids in enumerate(sets):
        features = as_ids(ids)
        novelty.own(features)
        scheduler.add(number, features, costs[number] if costs else 1.0, (picks or {}).get(number, 0))
    return scheduler


def test_rare_features_draw_picks() -> None:
    scheduler = grown([[1, 2]] * 20 + [[1, *range(100, 140)]])
    rng = Random(0)
    counts = Counter(scheduler.pick(rng) for _ in range(400))
    assert counts[20] > 3 * max(counts[n] for n in range(20))


def test_costly_entries_are_picked_less() -> None:
    energies = grown([[1, 2], [1, 3], [1, 4]], costs=[1.0, 8.0, 1.0]).energies()
    assert energies[1] < energies[0] / 4
    assert energies[1] > 0


def test_every_entry_keeps_a_chance() -> None:
    scheduler = grown([[1]] * 30 + [list(range(50, 90))], costs=[1.0] * 30 + [0.01])
    rng = Random(1)
    assert {scheduler.pick(rng) for _ in range(4000)} == set(range(31))


def test_restored_scheduler_picks_as_the_first_would_have() -> None:
    random = Random(5)
    sets = [[random.randrange(300) for _ in range(20)] for _ in range(100)]
    first = grown(sets)
    for n in range(500):
        first.pick(Random(n))
    second = grown(sets, picks=first.take_picks())
    third = grown(sets, picks=second.take_picks())
    # Energies are computed anew at the same sizes of the corpus, so both saw the same owners.
    assert [first.pick(Random(n)) for n in range(200)] == [second.pick(Random(n)) for n in range(200)]
    assert third.take_picks() == {}


def test_cost_is_nodes_where_the_clock_must_not_count() -> None:
    assert cost_of(True)(12.0, 3) == 4.0
    assert cost_of(False)(12.0, 3) == 12.0


def test_bandit_favours_what_pays_within_bounds() -> None:
    bandit = Bandit({"good": 1.0, "bad": 1.0, "idle": 1.0})
    for _ in range(300):
        bandit.reward(["good"], 10, 0.3)
        bandit.reward(["bad"], 0, 0.3)
    chances = bandit.chances()
    assert chances["good"] > chances["idle"] > chances["bad"]
    assert chances["good"] / chances["bad"] <= SPAN * SPAN
    assert chances["bad"] >= 1 / SPAN


def test_one_lucky_use_does_not_decide() -> None:
    bandit = Bandit({"lucky": 1.0, "steady": 1.0})
    bandit.reward(["lucky"], 5000, 0.3)
    for _ in range(100):
        bandit.reward(["steady"], 2, 0.3)
        bandit.reward(["lucky"], 2, 0.3)
    chances = bandit.chances()
    assert chances["lucky"] < 2 * chances["steady"]


def test_bandit_survives_the_store() -> None:
    bandit = Bandit({"a": 1.0, "b": 2.0})
    bandit.reward(["a", "b"], 7, 0.5)
    again = Bandit({"a": 1.0, "b": 2.0, "new": 1.0})
    again.restore(json.loads(json.dumps({**bandit.state(), "gone": [1.0, 1.0]})))
    assert again.state() == {**bandit.state(), "new": [0.0, 0.0]}
    assert [bandit.choose(Random(n), ["a"]) for n in range(3)] == ["b"] * 3
    assert bandit.choose(Random(0), ["a", "b"]) is None
