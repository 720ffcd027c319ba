from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzgraph.feedback.encode import as_ids, pack_ids, unpack_ids
from fuzzgraph.feedback.features import Interner
from fuzzgraph.feedback.novelty import Novelty


@given(st.sets(st.integers(0, 2**31 - 1)))
def test_packed_ids_come_back(ids: set[int]) -> None:
    assert unpack_ids(pack_ids(ids)).tolist() == sorted(ids)


def test_a_dense_set_packs_to_less_than_half_a_byte_an_id() -> None:
    ids = np.arange(20_000)
    assert len(pack_ids(ids)) < 10_000


@pytest.mark.parametrize("blob", [b"junk", b"x\x9c\x03\x00\x00\x00\x00\x01", pack_ids([1, 300])[:-3]])
def test_bytes_of_others_are_refused(blob: bytes) -> None:
    with pytest.raises(ValueError, match="not a feature set"):
        unpack_ids(blob)


SEEN = {"line": {"_inductor/ir.py": [3, 9], "fx/graph.py": [1]}, "counter": ["graph_break:x"]}


def test_ids_are_equal_for_equal_features_and_survive_the_store() -> None:
    interner = Interner()
    ids = interner.ids(SEEN)
    rows = interner.take_fresh()
    assert interner.take_fresh() == []
    again = Interner()
    again.restore(rows)
    assert again.ids(SEEN).tolist() == ids.tolist() == [0, 1, 2, 3]
    assert again.take_fresh() == []
    assert dict(again.lines) == dict(interner.lines) == {"_inductor": 2, "fx": 1}


def test_a_space_that_is_off_is_not_seen() -> None:
    assert len(Interner(off=["line"]).ids(SEEN)) == 1
    assert len(Interner(off=["counter"]).ids(SEEN)) == 3


def test_gaps_in_stored_ids_are_noticed() -> None:
    with pytest.raises(ValueError, match="consecutive"):
        Interner().restore([(0, "line", "a.py:1"), (2, "line", "a.py:2")])


def test_seen_and_owned_are_counted_apart() -> None:
    novelty = Novelty()
    ids = as_ids([1, 5, 100_000])
    assert novelty.see(ids).tolist() == [1, 5, 100_000]
    assert novelty.see(ids).tolist() == []
    assert novelty.unowned(ids).tolist() == [1, 5, 100_000]
    novelty.own(as_ids([1, 5]))
    novelty.own(as_ids([5]))
    assert novelty.unowned(ids).tolist() == [100_000]
    assert novelty.owners(ids).tolist() == [1, 2, 0]
    assert (novelty.seen(), novelty.owned()) == (3, 2)
