"""What an oracle says when it finds something. It crosses pipes, so it holds plain data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Failure:
    """One disagreement between subject and reference, as one oracle saw it.

    `kind` is the oracle's own word (value, gradient, dtype, exception, signal, ...). `stage` says where in the
    compiler: dynamo, aot, inductor, cpp, run, or unknown. `message` has no numbers, names or paths that vary
    between programs with the same bug, so it can be part of a signature; `detail` is for people. `frames` are the
    innermost torch frames, innermost last, as "file:function" with the file relative to torch. `causes` are the
    exception types of the cause chain, outermost first, `exc_type` being the last of them. `variant` names the
    variant of the program that failed, where it is not the program itself (see `_variants`).
    """

    oracle: str
    kind: str
    stage: str = "run"
    message: str = ""
    detail: str = ""
    frames: tuple[str, ...] = ()
    exc_type: str = ""
    causes: tuple[str, ...] = ()
    variant: str = ""

    def to_data(self) -> list[Any]:
        return [
            self.oracle, self.kind, self.stage, self.message, self.detail, list(self.frames), self.exc_type,
            list(self.causes), self.variant,
        ]  # fmt: skip

    @staticmethod
    def from_data(data: list[Any]) -> Failure:
        oracle, kind, stage, message, detail, frames, exc_type, causes, variant = data
        return Failure(oracle, kind, stage, message, detail, tuple(frames), exc_type, tuple(causes), variant)
