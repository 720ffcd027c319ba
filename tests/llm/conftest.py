"""A programmable Proposer against the scripted server, and a parser that needs no other part of the engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from fuzzgraph.ir.builtins import resolve
from fuzzgraph.ir.infer import Inferred
from fuzzgraph.ir.types import FROM_TORCH, TensorType
from fuzzgraph.llm.config import LLMConfig
from fuzzgraph.llm.gate import Gate
from fuzzgraph.llm.proposer import Exchange, Proposer
from fuzzgraph.llm.scrub import Secret

KEY = "sk-test-Zq7XvP2mLw9RtK4hNc8B"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class FakeInference:
    """FakeTensor in this process; records what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def infer(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inferred:
        self.asked.append(op)
        with FakeTensorMode():

            def value(x: Any) -> Any:
                if isinstance(x, TensorType):
                    return torch.empty_strided(x.shape, x.stride, dtype=x.torch_dtype)
                return type(x)(map(value, x)) if isinstance(x, tuple | list) else x

            try:
                out = resolve(op)(*map(value, args), **{k: value(v) for k, v in kwargs.items()})
            except Exception as error:
                return Inferred(None, f"{type(error).__name__}: {error}")
        return Inferred(TensorType(FROM_TORCH[out.dtype], tuple(out.shape), out.stride()), alias_of=(None,))


class FakeBook:
    """A few operators without rules of their own."""

    rules: dict[str, Any] = dict.fromkeys(["abs", "minimum", "transpose", "relu", "add", "Tensor.add_", "neg"])

    def check(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        return None if op in self.rules else "no such rule"


@pytest.fixture
def inference() -> FakeInference:
    return FakeInference()


@pytest.fixture
def gate(inference: FakeInference) -> Gate:
    return Gate(FakeBook(), inference)


def config(url: str, **changes: Any) -> LLMConfig:
    """Quick to give up and to try again."""
    quick = {"timeout": 5.0, "backoff": 0.02, "max_backoff": 0.1, "max_concurrent": 1, "attempts": 1, "queue": 50}
    return LLMConfig(url, "scripted", Secret(changes.pop("key", KEY)), **{**quick, **changes})


class Campaign:
    """What a campaign does with a Proposer, and what its sink got."""

    def __init__(self, gate: Gate, config: LLMConfig, **options: Any) -> None:
        self.exchanges: list[Exchange] = []
        self.proposer = Proposer(
            config, gate.parse, gate.verify, operators=gate.operators, sink=self.exchanges.append, **options
        )
        self.proposals: list[Any] = []

    def until(self, done: Callable[[Campaign], bool], seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not done(self):
            assert time.monotonic() < end, f"still waiting: {self.proposer.stats()}"
            self.proposals += self.proposer.poll()
            time.sleep(0.005)

    def ask(self, times: int = 1, text: str = "fuzzgraph 1\n", parent: str = "entry") -> None:
        """Ask and wait until each answer is stored."""
        before = len(self.exchanges)
        for _ in range(times):
            assert self.proposer.want(text, parent)
        self.until(lambda c: len(c.exchanges) >= before + times)

    @property
    def refused(self) -> dict[str, int]:
        refused: dict[str, int] = self.proposer.stats()["refused"]
        return refused


@pytest.fixture
def campaign(gate: Gate) -> Iterator[Callable[..., Campaign]]:
    made: list[Campaign] = []

    def make(url: str, state: dict[str, Any] | None = None, known: Any = None, **changes: Any) -> Campaign:
        options: dict[str, Any] = {"state": state}
        if known:
            options["known"] = known
        made.append(Campaign(gate, config(url, **changes), **options))
        return made[-1]

    yield make
    for campaign in made:
        campaign.proposer.close()
