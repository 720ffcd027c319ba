"""Mutators are found by presence."""

from fuzzgraph.mutators import load


def test_in_the_order_of_their_names():
    names = [m.name for m in load()]
    assert names == sorted(names)
    assert "insert_node" in names
