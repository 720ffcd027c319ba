"""What a campaign talks to: `want` asks for variants of an entry, `poll` takes those that have arrived."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import ProgramError
from ..ir.builder import Rejected
from ..ir.hash import content_hash
from ..ir.program import Program
from .budget import Budget
from .client import Answer, Courier, Job
from .config import LLMConfig
from .prompt import PROMPT_VERSION, messages
from .reply import MAX_PROGRAM, Candidates, extract
from .scrub import MARK

NAME = "llm"  # of this mutator, in entries and statistics

# Answers that one poll takes up: reading one takes well under a millisecond.
ANSWERS_PER_POLL = 8


class Refused(Exception):
    """A proposed program is refused: `reason` is what is counted, the message says more."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason


@dataclass(frozen=True)
class Proposal:
    """A verified variant of the entry `parent`."""

    program: Program
    parent: str
    text: str
    model: str
    prompt_version: int
    exchange: int


@dataclass(frozen=True)
class Exchange:
    """One request and what became of it, for a sink to store: no secret is in it.

    `verdict` is "answered", or the reason why there was no reply (`http 500`, `timeout`, ...). `verdicts` has
    one reason for each program in the reply, "accepted" included.
    """

    number: int
    parent: str
    model: str
    prompt_version: int
    prompt: tuple[dict[str, str], ...]
    reply: str
    verdict: str
    verdicts: tuple[str, ...]
    prompt_tokens: int
    reply_tokens: int
    estimated: bool
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class _Open:
    """A reply that is being judged, program by program."""

    answer: Answer
    number: int
    candidates: Candidates
    verdicts: list[str] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return len(self.verdicts) >= len(self.candidates.texts)


class Proposer:
    """Asks a server for variants of entries, in the background.

    Neither `want` nor `poll` ever waits for the server. `parse` turns a text into a program and raises
    Refused, ProgramError or Rejected; `verify` returns the problems of a program (both as `gate.Gate` has
    them). `operators` are named in the prompt. `known` says of a content hash that the corpus has it already.
    `sink` gets each Exchange, on the caller's thread. `state` is what `stats()` returned when the campaign
    was interrupted: counts and limits go on from there.
    """

    def __init__(
        self,
        config: LLMConfig,
        parse: Callable[[str], Program],
        verify: Callable[[Program], list[str]] = lambda program: [],
        *,
        operators: Iterable[str] = (),
        known: Callable[[str], bool] = lambda content_hash: False,
        sink: Callable[[Exchange], None] = lambda exchange: None,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        state = state or {}
        self.config, self._operators = config, tuple(operators)
        self._parse, self._verify, self._known, self._sink = parse, verify, known, sink
        self._budget = Budget(
            config.max_requests, config.max_total_tokens, state.get("requests", 0), state.get("tokens", 0)
        )
        self._counts = Counter(
            {name: state.get(name, 0) for name in ("wanted", "dropped", "programs", "accepted", "exchanges")}
        )
        self._refused = Counter(state.get("refused", {}))
        self._proposed: set[str] = set()
        self._arrived: deque[Answer] = deque()  # appended to by the courier's thread
        self._open: deque[_Open] = deque()
        self._scrubber = config.scrubber()
        self._courier = Courier(config, self._budget, self._arrived.append)
        self._closed = False

    def want(self, program_text: str, parent: str) -> bool:
        """Ask for variants of the entry `parent`, without waiting. False: dropped (queue full, budget spent)."""
        self._counts["wanted"] += 1
        if not self._closed and not self._budget.spent and len(program_text) <= MAX_PROGRAM:
            job = Job(parent, messages(program_text, self.config.variants, self._operators))
            if self._courier.submit(job):
                return True
        self._counts["dropped"] += 1
        return False

    def poll(self, limit: int = 2) -> list[Proposal]:
        """Judge at most `limit` of the programs that have arrived; return those that are fine."""
        self._take_up()
        found: list[Proposal] = []
        for _ in range(limit):
            if not self._open:
                break
            proposal = self._judge_next(self._open[0])
            if proposal is not None:
                found.append(proposal)
            if self._open[0].done:
                self._close_exchange(self._open.popleft())
        return found

    def stats(self) -> dict[str, Any]:
        """Counters for display, and the `state` of a later Proposer. Plain data, no secret."""
        return {
            **self._counts,
            **self._budget.counts(),
            "refused": dict(self._refused),
            "model": self._scrubber.scrub(self.config.model),
            "prompt_version": PROMPT_VERSION,
            "trouble": self._courier.trouble,
            "budget_spent": self._budget.spent,
        }

    def close(self) -> None:
        """Stop in under a second whatever the server does; give the sink what is unjudged. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._courier.close()
        while self._arrived:
            self._take_up()
        while self._open:
            reply = self._open.popleft()
            reply.verdicts += ["unjudged"] * (len(reply.candidates.texts) - len(reply.verdicts))
            self._close_exchange(reply)

    def _take_up(self) -> None:
        """Count failed requests; queue the programs of replies for judgement."""
        for _ in range(ANSWERS_PER_POLL):
            if not self._arrived:
                return
            answer = self._arrived.popleft()
            if answer.problem == "over budget":  # no request was made
                self._refused["over budget"] += 1
                continue
            self._counts["exchanges"] += 1
            number = self._counts["exchanges"]
            if answer.problem is not None:
                self._refused[answer.problem] += 1
                self._store(answer, number, answer.problem, ())
                continue
            reply = _Open(answer, number, extract(answer.text, answer.finish))
            if reply.candidates.truncated:
                self._refused["truncated"] += 1
            if reply.done:
                if not reply.candidates.truncated:
                    self._refused["no program" if answer.text.strip() else "empty"] += 1
                self._close_exchange(reply)
            else:
                self._open.append(reply)

    def _judge_next(self, reply: _Open) -> Proposal | None:
        text = reply.candidates.texts[len(reply.verdicts)]
        self._counts["programs"] += 1
        try:
            program = self._admit(text, reply.answer.exposed)
        except Refused as refusal:
            self._refused[refusal.reason] += 1
            reply.verdicts.append(refusal.reason)
            return None
        self._counts["accepted"] += 1
        reply.verdicts.append("accepted")
        job = reply.answer.job
        return Proposal(program, job.parent, text, self.config.model, PROMPT_VERSION, reply.number)

    def _admit(self, text: str, exposed: bool) -> Program:
        """The program of a text, which has a mark in the key's place where the reply was `exposed`. Raises Refused."""
        if len(text) > MAX_PROGRAM:
            raise Refused("too long")
        if exposed and MARK in text:
            raise Refused("holds the key")
        try:
            program = self._parse(text)
            problems = self._verify(program)
            name = content_hash(program)
        except Refused:
            raise
        except Rejected as error:
            raise Refused("type error", str(error)) from error
        except ProgramError as error:
            raise Refused("syntax", str(error)) from error
        except Exception as error:
            # A text that our parser chokes on must not end a campaign; the exchange keeps it for a regression
            # test.
            raise Refused(f"parser fault {type(error).__name__}", str(error)) from error
        if problems:
            raise Refused("type error", problems[0])
        if name in self._proposed or self._known(name):
            raise Refused("duplicate")
        self._proposed.add(name)
        return program

    def _close_exchange(self, reply: _Open) -> None:
        verdicts = tuple(reply.verdicts) + (("truncated",) if reply.candidates.truncated else ())
        self._store(reply.answer, reply.number, "answered", verdicts)

    def _store(self, answer: Answer, number: int, verdict: str, verdicts: tuple[str, ...]) -> None:
        scrub = self._scrubber.scrub
        prompt = tuple({k: scrub(v) for k, v in message.items()} for message in answer.job.messages)
        usage = answer.usage
        self._sink(
            Exchange(
                number, answer.job.parent, scrub(self.config.model), PROMPT_VERSION, prompt, answer.text,
                verdict, verdicts, usage.prompt, usage.reply, usage.estimated, round(answer.seconds, 3),
            )
        )  # fmt: skip
