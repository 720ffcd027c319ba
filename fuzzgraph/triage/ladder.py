"""The first part of the compiler with which a failure shows: rung after rung, from nothing compiled to all of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fuzzgraph.execution.protocol import Job

from .matching import Run, Same, said

# A rung's word, and the target that has this part of the compiler and all those before it.
LADDER = (
    ("eager", "identity"), ("dynamo", "eager"), ("aot", "aot-eager"), ("decomp", "aot-eager-decomp-partition"),
    ("inductor", "inductor"),
)  # fmt: skip
# For people.
PARTS = {
    "eager": "eager (the reference run again differs: no compiler is at work)",
    "fake": "FakeTensor propagation (meta kernels and decompositions; no compiler is at work)",
    "dynamo": "Dynamo (backend=\"eager\")",
    "aot": "AOTAutograd and functionalization (backend=\"aot_eager\")",
    "decomp": "decompositions and the partitioner (backend=\"aot_eager_decomp_partition\")",
    "inductor": "Inductor (backend=\"inductor\")",
}


@dataclass(frozen=True)
class Step:
    """One rung tried. `shows`: whether the failure is there, None where it could not be tried; `what` says in words
    what that run showed."""

    rung: str
    target: str
    shows: bool | None
    what: str


@dataclass(frozen=True)
class Rung:
    """`name` is the first failing rung, "" where none fails (the failure comes and goes, or needs its own process)."""

    name: str
    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        return PARTS.get(self.name, self.name or "none: the failure did not come again")


def ladder(target: str) -> tuple[tuple[str, str], ...]:
    """Rungs up to `target`. One that is no rung of Inductor's ladder stands on top of the whole of it, if it is a way
    to run Inductor on the CPU, and alone otherwise: parts of a compiler for another device are not tried on the CPU."""
    targets = [name for _, name in LADDER]
    if target in targets:
        return LADDER[: targets.index(target) + 1]
    if target.startswith("inductor") and "cuda" not in target:
        return (*LADDER, (target, target))
    return LADDER[0], (target, target)


def find_rung(run: Run, job: Job, same: Same) -> Rung:
    """Run the job on every rung of its target's ladder."""
    rungs = ladder(job.target)
    jobs = [replace(job, id=f"{job.id}/{rung}", target=target, tier="compare") for rung, target in rungs]
    steps = []
    for (rung, target), outcome in zip(rungs, run(jobs), strict=True):
        shows = None if outcome.status == "lost" else same(outcome)
        # What FakeTensors say is the same on every rung.
        fake = shows and rung == "eager" and all(f.oracle == "fake" for f in outcome.failures)
        steps.append(Step("fake" if fake else rung, target, shows, said(outcome)))
    first = next((step.rung for step in steps if step.shows), "")
    return Rung(first, tuple(steps))
