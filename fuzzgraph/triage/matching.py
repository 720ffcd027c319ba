"""Whether another execution shows the failure of a finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fuzzgraph.execution.protocol import Failure, Job, Outcome

Run = Callable[[Sequence[Job]], list[Outcome]]
Same = Callable[[Outcome], bool]

# What the harness says of settings that a torch does not have.
NO_SETTING = "OptionError"


@dataclass(frozen=True)
class Shows:
    """Says of an outcome whether it shows `failure`: the same oracle, kind and exception type. Frames do not count:
    another back end reaches the same error on another way. `Same` is what it is called with."""

    failure: Failure

    def __call__(self, outcome: Outcome) -> bool:
        return any(self.equal(other) for other in outcome.failures)

    def equal(self, other: Failure) -> bool:
        return key(other) == key(self.failure)


def searched(run: Run, job: Job, tier: str, trials: int, **more: Any) -> tuple[dict[str, Any], str]:
    """What a tier of the harness that searches reports of a job, of whose runs it may take `trials`; and where that is
    no answer, why. `more` goes into `Job.search`."""
    asked = replace(
        job, id=f"{job.id}/{tier}", target="inductor", tier=tier, timeout=job.timeout * trials,
        search={**more, "limit": job.timeout},
    )  # fmt: skip
    outcome = run([asked])[0]
    reason = outcome.report.get("problem") or (outcome.error.message if outcome.error else outcome.status)
    return outcome.report, " ".join(str(reason).split())[:300]


def key(failure: Failure) -> tuple[str, str, str]:
    return failure.oracle, failure.kind, failure.exc_type


def said(outcome: Outcome) -> str:
    """What an execution showed, in a few words."""
    if outcome.failures:
        first = outcome.failures[0]
        what = f"{first.exc_type}: {first.message}" if first.exc_type else first.message
        kind = first.kind if first.kind in ("exception", first.oracle) else f"{first.oracle} {first.kind}"
        return _line(what if kind == "exception" else f"{kind}: {what}")
    if outcome.error is not None and outcome.status not in ("ok",):
        return _line(f"{outcome.error.type}: {outcome.error.message}")
    return outcome.status


def _line(text: str, limit: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
