"""Opens a campaign directory, puts a campaign together from what is stored there, and runs it.

A resumed campaign and a new one take the same path: a new one finds an empty store.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from fuzzgraph.corpus.lock import DirectoryLock
from fuzzgraph.corpus.schedule import Scheduler
from fuzzgraph.corpus.store import Store
from fuzzgraph.feedback.features import Interner
from fuzzgraph.feedback.novelty import Novelty
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.rng import Streams
from fuzzgraph.triage import known

from . import config as options
from . import parts
from .backlog import Backlog
from .clock import Clock
from .config import Config
from .display import Headless, Terminal
from .events import Bus, Subscriber
from .judge import Findings, Judge
from .library import Library
from .logfile import LogFile
from .loop import Campaign, Progress
from .parts import Parts
from .spare import SpareTriage, spare_triage
from .statsfile import StatsFile
from .summary import counted
from .supply import Supply
from .tally import Tally
from .task import from_payload
from .tiers import Spending
from .traits import TraitCounter
from .writer import Writer, mend_tree

Displays = Callable[[Tally, Callable[[], int]], Subscriber]


@dataclass
class Session:
    """One run of a campaign: the campaign, and what belongs to its directory."""

    directory: Path
    campaign: Campaign
    store: Store
    tally: Tally
    log: LogFile


@contextmanager
def opened(
    directory: Path, config: Config, make_parts: Callable[[Config, Path, LogFile, Any], Parts],
    display: Displays | None, spare: SpareTriage | None = None,
) -> Iterator[Session]:  # fmt: skip
    """A session on a prepared directory; everything is closed at the end. Raises FuzzgraphError."""
    with ExitStack() as stack:
        lock = DirectoryLock(directory)
        lock.acquire()
        stack.callback(lock.release)
        store = Store(directory)
        stack.callback(store.close)
        seed = store.state("seed")
        if seed is not None:
            config = replace(config, seed=seed)
        else:
            with store.transaction():
                store.put_state("seed", config.seed)
                store.put_state("created", time.time())
        (directory / options.FILE).write_text(config.to_toml(), encoding="utf-8")
        log = LogFile(directory)
        made = make_parts(config, directory, log, store.state("llm"))
        stack.callback(made.close)
        session = _assemble(directory, config, store, log, made, display)
        if spare is not None:
            session.campaign.bus.subscribe(spare)
            stack.callback(spare.end)
        yield session


def _assemble(
    directory: Path, config: Config, store: Store, log: LogFile, parts: Parts, display: Displays | None
) -> Session:
    """The one place that knows how a campaign's parts hang together, and what of each is stored."""
    clock, bus = Clock(), Bus()
    clock.seconds.update(store.state("clock") or {})
    tally = Tally(store.counters())
    interner, novelty, library = Interner(config.features_off), Novelty(), Library()
    interner.restore(store.features())
    scheduler = Scheduler(novelty)
    makers = parts.makers
    supply = Supply(Streams(config.seed), makers, scheduler, library, bus, clock, config.generate_share)
    supply.bandit.restore(store.state("bandit"))
    spending = Spending(config.compare_share, config.deterministic)
    spending.restore(store.state("spending"))
    findings = Findings({finding.signature: finding for finding in store.findings()})
    judge = Judge(
        config.seed, interner, novelty, scheduler, library, supply, spending, findings, bus, clock,
        config.deterministic, lambda: parts.versions, known.load([Path(p) for p in config.known]),
    )  # fmt: skip
    for entry in store.entries():
        judge.adopt(entry)
    hashes = parts.known
    hashes.update(store.hashes())
    queue = Backlog(from_payload(record.number, record.payload) for record in store.pending())
    hashes.update(task.hash for task in queue)
    supply.seeds.extend(seed for seed in parts.seeds if content_hash(seed.program) not in hashes)
    mend_tree(store, parts.format_packed)

    processes = _adding(store.state("processes") or {}, parts.cpu)

    def coverage() -> int:
        return counted(interner.lines)

    # Counters first: what the writer stores at a checkpoint and the others show includes the event at hand.
    bus.subscribe(tally)
    bus.subscribe(TraitCounter(tally, parts.traits))
    bus.subscribe(Writer(store, tally, config, clock, parts.format, parts.reproducer))
    bus.subscribe(log)
    bus.subscribe(StatsFile(directory, tally, clock, lambda: len(interner), parts.llm_stats))
    if display is not None:
        bus.subscribe(display(tally, coverage))
    progress = Progress(**(store.state("progress") or {}))
    campaign = Campaign(
        config, parts.executor, parts.make_job, supply, judge, bus, clock, progress, hashes, queue,
        lambda: {"llm": parts.llm_stats(), "processes": processes()},
    )  # fmt: skip
    return Session(directory, campaign, store, tally, log)


def _adding(before: dict[str, float], now: Callable[[], dict[str, float]]) -> Callable[[], dict[str, float]]:
    """What `now()` says, on top of what earlier sessions came to."""
    zero = dict.fromkeys(before, 0.0)
    return lambda: {name: before.get(name, 0.0) + value for name, value in {**zero, **now()}.items()}


def conduct(directory: Path, config: Config) -> str:
    """Run a campaign in a prepared directory, showing progress on stdout; return why it ended."""
    spare = spare_triage(directory, config)
    with opened(directory, config, parts.make, _display(directory, config), spare) as session:
        with signals(session.campaign.stop):
            return session.campaign.run()


def _display(directory: Path, config: Config) -> Displays:
    def make(tally: Tally, coverage: Callable[[], int]) -> Subscriber:
        if sys.stdout.isatty():
            return Terminal(tally, coverage, str(directory), config.budget())
        return Headless(sys.stdout, tally, coverage)

    return make


_WHY = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


@contextmanager
def signals(stop: Callable[[str], None]) -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP call `stop`; a second SIGINT interrupts at once. What is ignored (nohup) stays so."""
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked = True
        stop(_WHY[signal.Signals(number)])

    heard = [number for number in _WHY if signal.getsignal(number) != signal.SIG_IGN or number == signal.SIGINT]
    before = {number: signal.signal(number, handle) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
