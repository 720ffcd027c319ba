"""Subsystem and pass of a failure, by torch's CompilerBisector in a child of the harness."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fuzzgraph.execution.protocol import Failure, Job

from .matching import Run, key, searched

# Trials that a bisection may take: four back ends, some ten subsystems, and the logarithm of the largest count.
TRIALS = 30
# What is torch.compile on the CPU.
BISECTED = ("eager", "aot-eager", "aot-eager-decomp-partition", "inductor", "inductor-fresh")


@dataclass(frozen=True)
class Bisection:
    """`backend` "" where there is no answer; `note` then says why. `count`: the application of the subsystem that
    brings the failure, `info` what torch says of it (a pass, a node, an operator)."""

    backend: str
    subsystem: str = ""
    count: int | None = None
    info: str = ""
    note: str = ""

    @property
    def text(self) -> str:
        if not self.backend:
            return f"no answer: {self.note}"
        parts = [self.backend, self.subsystem, "" if not self.info or self.info == self.subsystem else self.info]
        text = " / ".join(part for part in parts if part)
        return f"{text} (application {self.count})" if self.count else text

    @property
    def key(self) -> str:
        """Back end, subsystem and pass, without what differs between programs with the same bug."""
        info = re.sub(r"_?\d+\b", "", self.info)
        return " ".join(part for part in (self.backend, self.subsystem, info) if part)


def bisect(run: Run, job: Job, failures: Iterable[Failure]) -> Bisection:
    """Torch's bisector goes through its own back ends, so it answers for torch.compile's targets on the CPU only."""
    if job.target not in BISECTED:
        return Bisection("", note=f"the bisector does not know target {job.target}")
    wanted = [list(key(failure)) for failure in failures]
    report, reason = searched(run, job, "bisect", TRIALS, wanted=wanted)
    if "backend" not in report:
        return Bisection("", note=reason)
    info = " ".join(str(report["info"] or "").split())
    note = f"{report['other']} of {report['trials']} trials failed in another way" if report["other"] else ""
    return Bisection(report["backend"], report["subsystem"] or "", report["count"], info, note)
