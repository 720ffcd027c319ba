"""Compiler configurations under test, one file each, found by presence; `load(name)` is the only look-up.

A target file defines (only `wrap` is required):

    ENVIRONMENT: dict[str, str]      set before torch is imported
    SPAWN = False                    True: a fresh process per batch instead of a fork
    DEVICE = "cpu"                   where inputs are placed and where programs create their tensors
    available() -> str | None        why it cannot run here, or None; torch is importable when it is called
    wrap(kwargs) -> callable         what stands for torch.compile; kwargs are those of torch.compile
    prepare() -> None                called once per process, after torch's import
    healthy() -> bool                asked after each program: whether another can run in this process
"""

from __future__ import annotations

from ...presence import module, modules

DEFAULTS = {
    "ENVIRONMENT": {}, "SPAWN": False, "DEVICE": "cpu", "available": lambda: None, "prepare": lambda: None,
    "healthy": lambda: True,
}  # fmt: skip


def names() -> list[str]:
    """All targets, whether they can run here or not."""
    return sorted(stem.replace("_", "-") for stem in modules(__name__, "target"))


def load(name: str):
    """The target's module, with defaults filled in. Raises UsageError for an unknown name."""
    found = module(__name__, "target", name.replace("-", "_"))
    for key, value in DEFAULTS.items():
        if not hasattr(found, key):
            setattr(found, key, value)
    return found
