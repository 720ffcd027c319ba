"""The other parts of fuzzgraph, as a campaign uses them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzgraph.errors import FuzzgraphError, UsageError
from fuzzgraph.execution.protocol import Job, Outcome
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.wire import unpack
from fuzzgraph.resources import data_dir

from .config import Config
from .logfile import LogFile
from .loop import ExecutorLike
from .supply import Makers, Seed
from .task import Task

if TYPE_CHECKING:
    from fuzzgraph.grammar import RuleBook
    from fuzzgraph.ir.infer import Inference
    from fuzzgraph.llm.proposer import Proposer
    from fuzzgraph.oracles._variants import Variants

SCRATCH = "scratch"
# A program whose oracles compile further ones has so many times the time limit.
FURTHER = 4
EXCHANGES = "llm.jsonl"


@dataclass
class Parts:
    """What a session puts a campaign together from; tests hand in smaller ones.

    `known`: content hashes of all programs of the campaign; the session fills it, the proposer reads it. `cpu`: CPU
    seconds of helper processes by kind. `reproducer(task, outcome, title)`: a standalone script. `traits(program)`:
    `feedback.traits` that it has.
    """

    executor: ExecutorLike
    make_job: Callable[[Task], Job]
    makers: Makers
    seeds: list[Seed]
    format: Callable[[Program], str]
    reproducer: Callable[[Task, Outcome, str], str]
    known: set[str] = field(default_factory=set)
    versions: dict[str, str] = field(default_factory=dict)
    traits: Callable[[Program], Iterable[str]] = lambda program: ()
    llm_stats: Callable[[], dict[str, Any] | None] = lambda: None
    cpu: Callable[[], dict[str, float]] = dict
    close: Callable[[], None] = lambda: None

    def format_packed(self, blob: bytes) -> str:
        return self.format(unpack(blob))


def make(config: Config, directory: Path, log: LogFile, llm_state: Any) -> Parts:
    """The real parts: starts the FakeTensor process and the executor. Raises FuzzgraphError."""
    from fuzzgraph import mutators
    from fuzzgraph.execution.executor import Executor
    from fuzzgraph.execution.infer import InferClient
    from fuzzgraph.feedback.traits import Describer
    from fuzzgraph.generate import Generator
    from fuzzgraph.generate.variants import Variants as VariantMaker
    from fuzzgraph.grammar import load_rules
    from fuzzgraph.grammar.patterns import PatternBook
    from fuzzgraph.ir.text import format

    with ExitStack() as stack:
        book = load_rules()
        infer = stack.enter_context(InferClient())
        known: set[str] = set()
        proposer = _proposer(config, directory, book, infer, known, llm_state)
        if proposer is not None:
            stack.callback(proposer.close)
        executor = stack.enter_context(_executor(Executor, config, directory, log))
        # Two processes import torch meanwhile, which takes most of a campaign's start: side by side.
        with ThreadPoolExecutor(1) as pool:
            ready = pool.submit(_ready, executor, config, log)
            seeds = load_seeds(config, infer, book, log)
            ready.result()
        generator = Generator(book, infer)
        variants = VariantMaker(generator)
        found = {mutator.name: mutator for mutator in mutators.load()}
        patterns = PatternBook(infer.patterns)
        makers = Makers(
            generator.program, found, lambda other: mutators.Tools(book, infer, generator, other, patterns), format,
            proposer, proposer.config.weight if proposer is not None else 0.0, log.trouble,
        )  # fmt: skip
        return Parts(
            executor=executor,
            make_job=JobMaker(config, book, variants),
            makers=makers,
            seeds=seeds,
            format=format,
            reproducer=Reproducer(book, variants.program_of, config.target),
            known=known,
            versions=executor.versions,
            traits=Describer(book),
            llm_stats=lambda: None if proposer is None else proposer.stats(),
            cpu=lambda: {"harness": executor.cpu, "inference": infer.cpu},
            close=stack.pop_all().close,
        )


def _executor(make: Any, config: Config, directory: Path, log: LogFile) -> Any:
    scratch = directory / SCRATCH
    # What a killed session left: caches and sockets of processes that are gone.
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    return make(
        jobs=config.jobs, batch=config.batch, preload=config.preload, scratch=scratch, on_notice=log.write
    )  # fmt: skip


def _ready(executor: Any, config: Config, log: LogFile) -> None:
    """Try the environment before any work, so that what is missing is one line and not a failed campaign."""
    from fuzzgraph.execution.startup import startup_checks

    executor.start(config.target)
    log.write(startup_checks(executor))


def _proposer(
    config: Config, directory: Path, book: RuleBook, infer: Inference, known: set[str], state: Any
) -> Proposer | None:
    """The LLM's mutator, None unless it is configured. Afterwards no process that is started can inherit the key."""
    from fuzzgraph.llm.config import SECRET_VARIABLES, LLMConfig
    from fuzzgraph.llm.gate import Gate
    from fuzzgraph.llm.journal import Journal
    from fuzzgraph.llm.proposer import Proposer

    asked = None if config.no_llm else LLMConfig.from_environment(model=config.llm_model)
    for name in SECRET_VARIABLES:
        os.environ.pop(name, None)
    if asked is None:
        return None
    gate = Gate(book, infer)
    return Proposer(
        asked, gate.parse, gate.verify, known=known.__contains__, sink=Journal(directory / EXCHANGES), state=state
    )


# Settings under which kernels are compiled with other flags.
KERNEL_SETTINGS = "inductor.cpp"
# Of the compared programs, those whose kernels torch compiles, one by one.
OWN_PATH = 0.02


@dataclass(frozen=True)
class JobMaker:
    """Task -> job: the rendered source, and what the oracles plan.

    Oracles that compile further programs are asked of a share of the programs, which their hashes decide: a program
    that is run again is judged by the same ones. `variants` makes what they need.
    """

    config: Config
    book: Any
    variants: Variants | None = None

    def __call__(self, task: Task) -> Job:
        from fuzzgraph import oracles
        from fuzzgraph.execution.jobs import make_job

        cover = task.purpose == "cover"
        job = make_job(
            task.program, self.book, id=f"{task.number}/{task.purpose}", target=self.config.target,
            tier="cover" if cover else "compare", timeout=self.config.timeout,
            coverage="" if task.purpose == "confirm" else "novel", only=("crash",) if cover else self._oracles(task),
            variants=self.variants,
        )  # fmt: skip
        job = replace(job, kernels=self._kernels(task))
        return replace(job, timeout=job.timeout * FURTHER) if oracles.expensive() & job.plans.keys() else job

    def _kernels(self, task: Task) -> tuple[Any, ...]:
        """The kernels that may be compiled with those of other programs: none where settings change how kernels are
        compiled, and none of a few programs, which hold that way of compiling against torch's own."""
        changed = any(key.startswith(KERNEL_SETTINGS) for key, _ in task.program.options.config)
        own = int(task.hash[8:16], 16) < OWN_PATH * 2**32
        return () if task.purpose != "compare" or changed or own else task.kernels

    def _oracles(self, task: Task) -> tuple[str, ...]:
        from fuzzgraph import oracles

        if self.config.oracles:
            return self.config.oracles
        drawn = int(task.hash[:8], 16) < self.config.expensive_share * 2**32
        return tuple(oracles.names()) if drawn else oracles.cheap()


@dataclass(frozen=True)
class Reproducer:
    """Standalone script of a failure: it checks what failed and no more. `variant(program, key)` makes the variant of a
    program that a failure is a failure of."""

    book: Any
    variant: Callable[[Program, str], Program] | None = None
    target: str = "inductor"

    def __call__(self, task: Task, outcome: Outcome, title: str) -> str:
        from fuzzgraph.triage.reproducer import script

        program = task.program
        key = outcome.failures[0].variant if outcome.failures else ""
        if key and self.variant is not None:
            program = self.variant(program, key)
        return script(program, self.book, outcome.failures, title=title, target=self.target)


def load_seeds(config: Config, infer: Inference, book: RuleBook, log: LogFile) -> list[Seed]:
    """The seed programs: those named, or those shipped. One that does not fit this torch is left out and logged.

    Raises UsageError for a path that is not there, and where not one of the seeds can be read.
    """
    from fuzzgraph.ir.text import parse_file

    if config.no_seeds:
        return []
    paths = [Path(p) for p in config.seeds] or [data_dir("corpus") / "seeds"]
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError("no such file or directory", where=str(path), hint="--seeds takes .fg files and folders")
        files += sorted(path.glob("**/*.fg")) if path.is_dir() else [path]
    seeds, errors = [], []
    for file in files:
        try:
            seeds.append(Seed(str(file), parse_file(str(file), infer, book.check)))
        except FuzzgraphError as error:
            errors.append(error)
            log.write(f"seed left out: {error}")
    if errors and not seeds:
        raise errors[0]
    return seeds
