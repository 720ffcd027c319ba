"""Observers record what an execution did, one file each, found by presence; `feedback` judges what is new.

An observer file defines:

    start() -> None            called once per process, before torch is imported
    freeze(more) -> None       called once, after the warm-up: what was seen so far is the baseline, and `more` (what
                               `end()` gave in a child of the warm-up) as well
    begin(full: bool) -> None  called before a program
    end() -> Any               what it did since: plain data; its key space is the file's name
    baseline() -> Any          optional: what import and warm-up did
"""

from __future__ import annotations

from typing import Any

from ...presence import module, modules


def _all() -> dict[str, Any]:
    return {name: module(__name__, "observer", name) for name in modules(__name__, "observer")}


def start() -> None:
    for observer in _all().values():
        observer.start()


def freeze(more: dict[str, Any]) -> None:
    for name, observer in _all().items():
        observer.freeze(more.get(name))


def begin(full: bool) -> None:
    for observer in _all().values():
        observer.begin(full)


def end() -> dict[str, Any]:
    return {name: observer.end() for name, observer in _all().items()}


def baseline() -> dict[str, Any]:
    return {name: m.baseline() for name, m in _all().items() if hasattr(m, "baseline")}
