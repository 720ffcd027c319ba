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

from ..loading import load_file, names_in

FOLDER = __path__[0]


def _all() -> dict[str, Any]:
    return {name: load_file(FOLDER, name, kind="observer") for name in names_in(FOLDER)}


def start() -> None:
    for module in _all().values():
        module.start()


def freeze(more: dict[str, Any]) -> None:
    for name, module in _all().items():
        module.freeze(more.get(name))


def begin(full: bool) -> None:
    for module in _all().values():
        module.begin(full)


def end() -> dict[str, Any]:
    return {name: module.end() for name, module in _all().items()}


def baseline() -> dict[str, Any]:
    return {name: m.baseline() for name, m in _all().items() if hasattr(m, "baseline")}
