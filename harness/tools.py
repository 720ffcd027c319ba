"""Further runs that a judge may ask for. Each is made at most once per program, and only when asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from ..oracles._exceptions import is_out_of_memory
from ..oracles._types import Run, Trial
from .fake import fake_run
from .precision import float64_variant, perturbing_variant
from .program import Loaded, OptionError, Variant, identity, run_once

if TYPE_CHECKING:
    from .runner import Subject


OWN_RANDOM = {"inductor.fallback_random": False}


class Tools:
    """Implements `oracles._types.Tools`."""

    def __init__(self, loaded: Loaded, subject: Subject, reference: Run) -> None:
        self._loaded, self._subject, self._reference = loaded, subject, reference
        self._runs: dict[Any, Run | None] = {}
        self.float64_problem = ""
        self.instability: str | None = None
        self.notes: list[str] = []
        halves = ("float16", "half", "bf16", "f16")
        self.low_precision = any(w in loaded.source for w in halves) or bool(loaded.options.get("autocast"))

    def rerun(self) -> Run:
        return self._once("rerun", lambda: run_once(self._loaded, identity))

    def perturbed(self, how: int | str) -> Run:
        return self._once(("perturbed", how), lambda: run_once(self._loaded, identity, perturbing_variant(how)))

    def float64(self) -> Run | None:
        return self._once("float64", self._float64)

    def emulated(self) -> Run | None:
        return self._once("emulated", self._emulated)

    def on_cpu(self) -> Run | None:
        if self._loaded.device == "cpu":
            return None
        return self._once("cpu", lambda: run_once(replace(self._loaded, device="cpu"), identity))

    def fake(self) -> Run | None:
        return self._once("fake", self._fake)

    def reconfigured(self, config: dict[str, Any]) -> Run | None:
        return self._once(("config", repr(sorted(config.items()))), lambda: self._reconfigured(config))

    def reseeded(self, seed: int) -> Run:
        return self._once(("seed", seed), lambda: run_once(self._loaded, identity, Variant(seed=seed)))

    def own_random(self, seed: int) -> Run | None:
        if not self._is_inductor():
            return None
        return self._once(("own random", seed), lambda: self._anew(lambda: self._subject.run(OWN_RANDOM, seed)))

    def again(self) -> Run:
        return self._once("again", lambda: self._anew(self._subject.run))

    def other(self, source: str) -> Trial:
        return self._once(("other", source), lambda: self._other(source))

    def harmless(self, run: Run) -> bool:
        return run.error is not None and (self._subject.refuses(run.error) or is_out_of_memory(run.error))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def unstable(self, reason: str) -> None:
        self.instability = self.instability or reason

    def _once(self, key: Any, make: Any) -> Any:
        if key not in self._runs:
            self._runs[key] = make()
        return self._runs[key]

    def _float64(self) -> Run | None:
        if self._loaded.options.get("float64") is False:
            self.float64_problem = "the program says that it has none"
            return None
        run = run_once(self._loaded, identity, float64_variant())
        if run.error is not None:
            self.float64_problem = f"{type(run.error).__name__}: {str(run.error)[:200]}"
            return None
        return run

    def _emulated(self) -> Run | None:
        if not self._is_inductor() or not self._subject.context.hooks.emulate_casts:
            return None
        run = self._anew(lambda: self._subject.run({"inductor.emulate_precision_casts": True}))
        return None if run.error is not None else run

    def _is_inductor(self) -> bool:
        return self._subject.target.__name__.rpartition(".")[2] in ("inductor", "inductor_cuda")

    def _reconfigured(self, config: dict[str, Any]) -> Run | None:
        try:
            return self._anew(lambda: self._subject.run(config))
        except OptionError:
            return None

    def _fake(self) -> Run | None:
        return None if self._loaded.device != "cpu" else fake_run(self._loaded)

    def _other(self, source: str) -> Trial:
        loaded = Loaded.of(source, self._loaded.options, self._loaded.device)
        reference = run_once(loaded, identity)
        subject = self._subject.of(loaded)
        return Trial(reference, self._anew(subject.run), Tools(loaded, subject, reference))

    @staticmethod
    def _anew(make: Callable[[], Run]) -> Run:
        torch._dynamo.reset()
        return make()
