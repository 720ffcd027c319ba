"""What mutators work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from ..generate import Generator
from ..grammar.patterns import PatternBook
from ..grammar.rule import RuleBook
from ..ir.infer import Inference
from ..ir.program import Program


@dataclass(frozen=True)
class Tools:
    """`other(rng)` is another entry of the corpus, for splicing. `patterns`: what the compiler looks for."""

    book: RuleBook
    infer: Inference
    generator: Generator
    other: Callable[[Random], Program]
    patterns: PatternBook = field(default_factory=PatternBook)
