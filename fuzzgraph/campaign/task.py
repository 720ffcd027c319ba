"""A program on its way through the tiers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fuzzgraph.ir.program import Program
from fuzzgraph.ir.wire import pack, unpack

# Why a program is executed. `cover`: is it new? `compare`: judge it, and measure its own full feature set.
# `confirm`: did what failed fail for good?
Purpose = Literal["cover", "compare", "confirm"]

# Kinds of origin, and the word for programs of that kind.
ORIGINS = (("seed", "seeds"), ("generate", "generated"), ("mutate", "mutated"), ("llm", "proposed"))


@dataclass(frozen=True)
class Origin:
    """Where a program came from: `kind` is seed, generate, mutate or llm; `parent` a content hash.

    `label` says more, for people: the seed's file, the model.
    """

    kind: str
    parent: str | None = None
    mutators: tuple[str, ...] = ()
    label: str = ""


@dataclass(frozen=True)
class Task:
    """One program, numbered by its place in the campaign, and what is to be done with it next.

    `first` until its first outcome came. `novel`: features that were new when it was executed for cover.
    `suspects` are the signatures that earlier executions of it gave; a failure counts when it comes again.
    `kernels` are what the cover tier saw; a program that goes on in another session is without them.
    """

    number: int
    program: Program
    hash: str
    origin: Origin
    purpose: Purpose = "cover"
    first: bool = True
    suspects: tuple[str, ...] = ()
    novel: int = 0
    blob: bytes = field(default=b"", repr=False)
    kernels: tuple[Any, ...] = field(default=(), repr=False, compare=False)

    @property
    def nodes(self) -> int:
        return self.program.size

    def packed(self) -> bytes:
        return self.blob or pack(self.program)

    def then(self, purpose: Purpose, **changes: Any) -> Task:
        return replace(self, purpose=purpose, first=False, **changes)

    def payload(self) -> dict[str, Any]:
        """Plain data; `from_payload` is the inverse."""
        return {
            "hash": self.hash,
            "origin": [self.origin.kind, self.origin.parent, list(self.origin.mutators), self.origin.label],
            "purpose": self.purpose,
            "first": self.first,
            "suspects": list(self.suspects),
            "novel": self.novel,
            "program": self.packed(),
        }


def from_payload(number: int, payload: dict[str, Any]) -> Task:
    kind, parent, mutators, label = payload["origin"]
    blob = payload["program"]
    return Task(
        number, unpack(blob), payload["hash"], Origin(kind, parent, tuple(mutators), label), payload["purpose"],
        payload["first"], tuple(payload["suspects"]), payload["novel"], blob,
    )  # fmt: skip
