"""A program as a job: its rendered source, its options, and what the oracles plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .protocol import Job

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program, RunOptions
    from ..oracles._variants import Variants


def make_job(
    program: Program, book: RuleBook | None, *, id: str, target: str = "inductor", tier: str = "compare",
    timeout: float = 60.0, coverage: str = "", only: Sequence[str] | None = None, variants: Variants | None = None,
) -> Job:  # fmt: skip
    """`only` names the oracles that are asked; None: all that have something to look at. `variants`: as `plan_all`."""
    from .. import oracles
    from ..render import render

    return Job(
        id=id, source=render(program, book).source, target=target, tier=tier, options=job_options(program.options),
        plans=oracles.plan_all(program, book, only, variants), timeout=timeout, coverage=coverage,
        expects_error=program.options.expects_error,
    )  # fmt: skip


def job_options(options: RunOptions) -> dict[str, Any]:
    """Run options as a job holds them."""
    return {**asdict(options), "config": dict(options.config)}
