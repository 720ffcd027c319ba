"""Where the next program comes from: a seed, a proposal, the generator, or a mutated entry."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from fuzzgraph.corpus.bandit import Bandit
from fuzzgraph.corpus.schedule import Scheduler
from fuzzgraph.ir.program import Program
from fuzzgraph.rng import Streams

from .clock import Clock
from .events import Attempted, Bus
from .library import Library
from .task import Origin

# How many mutators are stacked, and how often: mostly one, so that what a program brings can be laid to it.
STACK = ((1, 0.6), (2, 0.25), (3, 0.15))
# Mutators asked before an entry is given up: most apply to most programs.
TRIES = 6


class Mutator(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> float: ...

    def mutate(self, program: Program, rng: Random, tools: Any) -> Program | None: ...


class ProposerLike(Protocol):
    def want(self, program_text: str, parent: str) -> bool: ...

    def poll(self, limit: int = 2) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Seed:
    label: str
    program: Program


@dataclass(frozen=True)
class Candidate:
    """A program that was made, or why there is none (`program` None, `reason`)."""

    origin: Origin
    program: Program | None = None
    reason: str = ""


@dataclass
class Makers:
    """What makes programs. `tools(other)` gives mutators what they may use, `other(rng)` being another entry.

    `format` is the text form, for the proposer. `trouble` is told of exceptions that a generator or mutator let out:
    a bug of theirs costs one program, not the campaign.
    """

    generate: Callable[[Random], Program | None]
    mutators: Mapping[str, Mutator]
    tools: Callable[[Callable[[Random], Program]], Any]
    format: Callable[[Program], str]
    proposer: ProposerLike | None = None
    proposer_weight: float = 0.0
    trouble: Callable[[str, BaseException], None] = field(default=lambda what, error: None)


class Supply:
    """Makes candidates. What program n is depends only on the campaign's seed, n, and the corpus at that time."""

    LLM = "llm"

    def __init__(
        self, streams: Streams, makers: Makers, scheduler: Scheduler, library: Library, bus: Bus, clock: Clock,
        generate_share: float,
    ) -> None:  # fmt: skip
        self._streams, self._makers = streams, makers
        self._scheduler, self._library = scheduler, library
        self._bus, self._clock = bus, clock
        self._generate_share = generate_share
        weights = {name: mutator.weight for name, mutator in makers.mutators.items()}
        if makers.proposer is not None:
            weights[self.LLM] = makers.proposer_weight
        self.bandit = Bandit(weights)
        self.seeds: deque[Seed] = deque()
        self._proposals: deque[Any] = deque()
        self._tools = makers.tools(lambda rng: library.program(scheduler.other(rng)))

    def next(self, number: int) -> Candidate:
        """Program `number` of the campaign."""
        if self.seeds:
            seed = self.seeds.popleft()
            return Candidate(Origin("seed", label=seed.label), seed.program)
        proposal = self._proposal()
        if proposal is not None:
            return proposal
        rng = self._streams.stream("program", number)
        if not len(self._scheduler) or rng.random() < self._generate_share:
            return self._generated(rng)
        return self._mutated(rng)

    def _proposal(self) -> Candidate | None:
        if self._makers.proposer is None:
            return None
        if not self._proposals:
            with self._clock.section("llm"):
                self._proposals.extend(self._makers.proposer.poll())
        if not self._proposals:
            return None
        proposal = self._proposals.popleft()
        return Candidate(Origin("llm", proposal.parent, (self.LLM,), proposal.model), proposal.program)

    def _generated(self, rng: Random) -> Candidate:
        origin = Origin("generate")
        with self._clock.section("generate"):
            try:
                program = self._makers.generate(rng)
            except Exception as error:
                self._makers.trouble("generator", error)
                return Candidate(origin, reason="generator error")
        return Candidate(origin, program, "" if program is not None else "not generated")

    def _mutated(self, rng: Random) -> Candidate:
        with self._clock.section("schedule"):
            entry = self._scheduler.pick(rng)
            program = self._library.program(entry)
            depth = rng.choices([n for n, _ in STACK], [w for _, w in STACK])[0]
        parent = self._library.hash(entry)
        chain: list[str] = []
        declined: set[str] = set()
        # What is made to raise is finished: another mutation would mend it.
        while len(chain) < depth and len(declined) < TRIES and not program.options.expects_error:
            name = self.bandit.choose(rng, declined)
            if name is None:
                break
            if name == self.LLM:
                self._ask(program, parent)
                declined.add(name)
                continue
            changed = self._apply(name, program, rng)
            if changed is None:
                declined.add(name)
            else:
                program = changed
                chain.append(name)
        origin = Origin("mutate", parent, tuple(chain))
        return Candidate(origin, program if chain else None, "" if chain else "all mutators declined")

    def _apply(self, name: str, program: Program, rng: Random) -> Program | None:
        began = time.thread_time()
        changed = None
        with self._clock.section("mutate"):
            try:
                changed = self._makers.mutators[name].mutate(program, rng, self._tools)
            except Exception as error:
                self._makers.trouble(f"mutator {name}", error)
        self._bus.publish(Attempted(name, changed is not None, time.thread_time() - began))
        return changed

    def _ask(self, program: Program, parent: str) -> None:
        assert self._makers.proposer is not None
        with self._clock.section("llm"):
            asked = self._makers.proposer.want(self._makers.format(program), parent)
        self._bus.publish(Attempted(self.LLM, asked, 0.0))
