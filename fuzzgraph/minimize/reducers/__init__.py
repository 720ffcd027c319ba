"""Reducers, one file each, found by presence; files that start with `_` are shared parts."""
