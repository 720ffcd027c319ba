"""The folder of a finding: all that somebody needs who has nothing else of the campaign."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fuzzgraph.execution.protocol import Outcome

from .signature import Signature

PROGRAM = "program.fg"
REPRODUCER = "repro.py"
DESCRIPTION = "finding.json"
FORMAT = 1


@dataclass(frozen=True)
class Discovery:
    """What is known of a finding besides its failure; plain data."""

    hash: str
    number: int
    seed: int
    parent: str | None
    mutators: tuple[str, ...]
    target: str
    preload: tuple[str, ...]


def files(found: Signature, outcome: Outcome, text: str, reproducer: str, discovery: Discovery) -> dict[str, str]:
    """Name -> content. `text` is the program as .fg, `reproducer` the standalone Python that imports torch only."""
    return {
        PROGRAM: text,
        REPRODUCER: reproducer,
        DESCRIPTION: json.dumps(describe(found, outcome, discovery), indent=2, ensure_ascii=False) + "\n",
        "log": log(found, outcome),
        "versions": "".join(f"{name} {value}\n" for name, value in sorted(outcome.versions.items())),
    }


def describe(found: Signature, outcome: Outcome, discovery: Discovery) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "id": found.id,
        "kind": found.kind,
        "title": found.title,
        "signature": found.text,
        "status": outcome.status,
        "stage": outcome.stage,
        **{name: getattr(discovery, name) for name in discovery.__dataclass_fields__},
        "versions": dict(outcome.versions),
        "failures": [failure.__dict__ for failure in outcome.failures],
    }


def log(found: Signature, outcome: Outcome) -> str:
    parts = [found.title, f"signature: {found.text}", f"status: {outcome.status} at {outcome.stage}"]
    for failure in outcome.failures:
        parts += ["", f"--- {failure.oracle} {failure.kind}: {failure.message}", failure.detail]
    if outcome.error is not None:
        parts += ["", "--- traceback", outcome.error.traceback or f"{outcome.error.type}: {outcome.error.message}"]
    if outcome.output:
        parts += ["", "--- output of the process", outcome.output]
    return "\n".join(parts).rstrip() + "\n"
