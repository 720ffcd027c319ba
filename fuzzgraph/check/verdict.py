"""From an outcome to the one word and the one sentence that a file gets."""

from __future__ import annotations

from dataclasses import dataclass

from fuzzgraph.execution.protocol import Failure, Outcome

from .source import Checked

SAME, DIVERGES, INVALID, TIMEOUT, ERROR_TYPE = "same", "diverges", "invalid", "timeout", "error-type"
# Which of several failures names the verdict: what a user would call the bug, then what follows from it.
RANK = (
    ("crash", None), ("missed_error", "missed"), ("structure", "structure"), ("value", "value"), ("metadata", "dtype"),
    ("metadata", "shape"),
    ("metadata", "memory"), ("structure", None), ("gradient", None), ("aliasing", "mutation"), ("value", None),
    ("aliasing", None),
    ("metadata", None), ("guard", None), ("equivalence", None), ("device", None), ("randomness", None), ("fake", None),
    ("missed_error", None),
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """`failure` is the one that names it; `rung` is where in the compiler it shows first, once that was looked for."""

    file: str
    verdict: str
    detail: str = ""
    failure: Failure | None = None
    rung: str | None = None

    @property
    def oracle(self) -> str | None:
        return self.failure.oracle if self.failure is not None else None

    @property
    def found(self) -> bool:
        """Whether compiled code does what eager does not; that it does not come to an end included."""
        return self.verdict == DIVERGES or (self.verdict == TIMEOUT and self.failure is not None)

    @property
    def unjudged(self) -> bool:
        """Whether eager itself does not run, or does not come to an end."""
        return self.verdict == INVALID or (self.verdict == TIMEOUT and self.failure is None)

    @property
    def line(self) -> str:
        if not self.found or self.failure is None:
            return f"{self.file}: {self.verdict}" + (f": {self.detail}" if self.detail else "")
        kind = "" if self.failure.kind == self.failure.oracle else f" {self.failure.kind}"
        where = f", {self.rung}" if self.rung else ""
        return f"{self.file}: {self.failure.oracle}{kind}{where}: {self.detail}"

    def to_data(self) -> dict[str, str | None]:
        return {
            "file": self.file, "verdict": self.verdict, "oracle": self.oracle, "rung": self.rung, "detail": self.detail,
        }  # fmt: skip


def verdict(file: str, checked: Checked, outcome: Outcome, limit: float) -> Verdict:
    """What an outcome says of a file; the rung is not known yet."""
    first = leading(counted(checked, outcome))
    if first is not None and first.kind == "timeout":
        return Verdict(file, TIMEOUT, f"eager ends, compiled code does not within {limit:g} s", first)
    if first is not None and first.kind == "error_type":
        return Verdict(file, ERROR_TYPE, sentence(first.detail), first)
    if first is not None:
        return Verdict(file, DIVERGES, sentence(said(first, outcome)), first)
    if outcome.status == "lost":
        return Verdict(file, INVALID, sentence(f"the harness failed: {outcome.error.message if outcome.error else ''}"))
    if outcome.status == "timeout":
        where = {"judge": "the runs that judge the result do"}.get(outcome.stage, "eager does")
        return Verdict(file, TIMEOUT, f"{where} not end within {limit:g} s")
    error = "" if outcome.error is None else f"{outcome.error.type}: {outcome.error.message}"
    if outcome.status == "invalid" and outcome.missed:
        return Verdict(file, SAME, sentence(f"both raise {error}"))
    if outcome.status == "ok" or outcome.failures:
        return Verdict(file, SAME)
    if outcome.status == "unstable":
        return Verdict(file, SAME, sentence(f"eager is no judge: {outcome.error.message if outcome.error else ''}"))
    if outcome.stage == "judge":
        return Verdict(file, INVALID, sentence(f"the runs that judge the result end with {error}"))
    reason = error.removeprefix("FuzzgraphNoJudge: ")
    return Verdict(file, INVALID, sentence(reason if reason != error else f"eager does not run: {error}"))


def counted(checked: Checked, outcome: Outcome) -> list[Failure]:
    """Failures that count: signs of zeros do where the file says so."""
    return [f for f in outcome.failures if f.kind != "zero_sign" or checked.facts["SIGNBIT"]]


def leading(failures: list[Failure]) -> Failure | None:
    """The failure that names the verdict."""
    return min(failures, key=rank, default=None)


def rank(failure: Failure) -> int:
    places = [i for i, (oracle, kind) in enumerate(RANK) if oracle == failure.oracle and kind in (None, failure.kind)]
    return places[0] if places else len(RANK)


def said(failure: Failure, outcome: Outcome) -> str:
    """The failure in a sentence. What an exception says is more readable than a signature's normal form of it."""
    if failure.oracle == "crash" and failure.kind == "exception":
        message = outcome.error.message if outcome.error is not None else failure.message
        first = message.removeprefix(f"{failure.exc_type}: ")
        return f"compiled code does not run ({failure.stage}): {failure.exc_type}: {first}"
    if failure.oracle == "crash":
        return failure.message
    if failure.kind in ("value", "state", "gradient", "mutation", "offset", "missed"):
        return failure.detail
    return f"{failure.message}: {failure.detail}" if failure.detail else failure.message


def sentence(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
