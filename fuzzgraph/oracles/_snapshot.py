"""A run as a flat table: what there is to compare, by key."""

from __future__ import annotations

from typing import Any

from ._types import Path, Run, leaves

# A key starts with the kind: ("output", call, ...), ("input", name), ("gradient", name), ("state", name, ...).
Key = Path


def table(run: Run) -> dict[Key, Any]:
    """All leaves of a run. Equal programs have equal keys as long as structures agree."""
    found: dict[Key, Any] = {}
    for call, result in enumerate(run.results):
        found.update(leaves(result, ("output", call)))
    for name, value in run.inputs.items():
        found.update(leaves(value, ("input", name)))
    for name, value in run.gradients.items():
        found.update(leaves(value, ("gradient", name)))
    if run.states is not None:
        found.update(leaves(run.states, ("state",)))
    return found


def skipped(key: Key, plan: dict[str, Any]) -> bool:
    """Whether the plan says not to compare the value there."""
    kind, *rest = key
    if kind == "output":
        return any(rest[: len(path)] == list(path) for path in plan.get("outputs", ()))
    if kind == "gradient":
        return not plan.get("gradients", True)
    if kind == "state":
        return bool(rest) and rest[0] in plan.get("states", ())
    return bool(rest) and rest[0] in plan.get("inputs", ())


def decided(key: Key, plan: dict[str, Any]) -> bool:
    """Whether the plan says that the program's inputs decide each bit there."""
    kind, *rest = key
    return kind == "output" and rest in plan.get("exact", ())


def show(key: Key) -> str:
    """A key for people: `output of call 0 [1]`."""
    kind, *rest = key
    if kind == "output":
        return f"output of call {rest[0]}" + "".join(f"[{p!r}]" for p in rest[1:])
    return f"{kind} {rest[0] if rest else ''}" + "".join(f"[{p!r}]" for p in rest[1:])
