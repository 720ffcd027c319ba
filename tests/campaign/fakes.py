"""A campaign in miniature: an executor that looks programs' outcomes up, mutators that change one number."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from fuzzgraph.campaign.config import Config
from fuzzgraph.campaign.parts import Parts
from fuzzgraph.campaign.supply import Makers, Seed
from fuzzgraph.campaign.task import Task
from fuzzgraph.execution.protocol import ErrorInfo, Failure, Job, Outcome
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.text import format, parse

TEXT = """fuzzgraph 1
input x: i16[{size}] values ints(-3, 3) seed {seed}
def f(x) {{
  a: i16[{size}] = abs(x)
  b: i16[{size}] = {op}(a, x)
  return b
}}
call f(x)
"""


def program(size: int = 4, seed: int = 0, op: str = "minimum") -> Program:
    return parse(TEXT.format(size=size, seed=seed, op=op))


def input_seed(source: str) -> int:
    found = re.search(r"seed (\d+)", source)
    return int(found.group(1)) if found else 0


def behave(job: Job) -> Outcome:
    """Lines by the input's seed: a new one now and then. Every 17th crashes the compiler, every 23rd is invalid."""
    seed = input_seed(job.source)
    digest = hashlib.sha256(str(seed % 97).encode()).digest()
    lines = {"_inductor/ir.py": [1, 2, 3, 100 + digest[0] % 32], "_dynamo/eval.py": [digest[1] % 8]}
    versions = {"torch": "0.0", "python": "3"}
    base = Outcome(job.id, "ok", features={"line": lines}, cpu=0.25, wall=0.25, versions=versions)
    if seed % 23 == 22:
        return replace(base, status="invalid", stage="reference", error=ErrorInfo("RuntimeError", "no"))
    if seed % 17 == 16:
        frames = ("_inductor/graph.py:run_node", f"_inductor/ir.py:make_{seed % 2}")
        failure = Failure("crash", "exception", "inductor", "it broke", "at length", frames, "AssertionError")
        return replace(base, status="failure", stage="inductor", failures=(failure,))
    return base


@dataclass
class FakeExecutor:
    """Keeps what was submitted; each poll hands out what `behave` says, newest batch first."""

    behave: Callable[[Job], Outcome] = behave
    batches: list[list[Job]] = field(default_factory=list)
    log: list[Job] = field(default_factory=list)
    closed: bool = False

    def submit(self, jobs: Any) -> None:
        self.batches.append(list(jobs))
        self.log += jobs

    def poll(self, timeout: float | None = None) -> list[Outcome]:
        return [self.behave(job) for job in self.batches.pop()] if self.batches else []

    def close(self) -> None:
        self.closed = True


@dataclass
class SetSeed:
    """Draws a new seed for the input's values; declines for odd sizes where told to."""

    name: str = "set_seed"
    weight: float = 1.0
    span: int = 500

    def mutate(self, base: Program, rng: Random, tools: Any) -> Program | None:
        return program(seed=rng.randrange(self.span))


@dataclass
class Declines:
    name: str = "declines"
    weight: float = 1.0

    def mutate(self, base: Program, rng: Random, tools: Any) -> Program | None:
        return None


@dataclass
class Breaks:
    name: str = "breaks"
    weight: float = 0.2

    def mutate(self, base: Program, rng: Random, tools: Any) -> Program | None:
        raise ZeroDivisionError("a bug of the mutator's")


def parts(config: Config, directory: Path, log: Any, llm_state: Any = None, executor: Any = None) -> Parts:
    mutators = [SetSeed(), Declines(), Breaks()]
    makers = Makers(
        generate=lambda rng: program(seed=rng.randrange(10_000)),
        mutators={m.name: m for m in mutators},
        tools=lambda other: other,
        format=format,
        trouble=log.trouble,
    )

    def make_job(task: Task) -> Job:
        tier = "cover" if task.purpose == "cover" else "compare"
        return Job(f"{task.number}-{task.purpose}", format(task.program), tier=tier)

    return Parts(
        executor=executor or FakeExecutor(),
        make_job=make_job,
        makers=makers,
        seeds=[] if config.no_seeds else [Seed(f"seed{n}", program(size=n + 1, seed=n)) for n in range(3)],
        format=format,
        reproducer=lambda task, outcome, title: "#!/usr/bin/env python\nimport torch\n",
        versions={"torch": "0.0"},
    )
