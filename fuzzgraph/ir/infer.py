"""What the builder asks of type inference; `execution.infer.InferClient` is the one that runs FakeTensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from .types import Type


@dataclass(frozen=True)
class Inferred:
    """Result of one call on types.

    `type` is None where the call raised (`error` says what: exception type and message). `alias_of` gives, for
    each tensor in `type` in flattened order, the flat index (over args, then kwargs in order) of the tensor
    operand whose storage it shares, or None. `called` gives, for each function among the operands, the types on
    which it was called first (their strides are not known), () for one that was not called.
    """

    type: Type | None
    error: str | None = None
    alias_of: tuple[int | None, ...] = ()
    called: tuple[tuple[Type, ...], ...] = ()


class Inference(Protocol):
    """Pure: equal arguments give equal results."""

    def infer(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inferred:
        """Types of `op` (dotted name relative to torch) on `args`, with `Type`s in place of values."""
        ...
