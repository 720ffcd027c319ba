"""The cover tier: everything up to the C++ compiler, nothing after it.

A kernel becomes a Python function that zeroes what it would write, so that whatever follows sees defined data. Where
there is no such kernel to replace (cpp_wrapper, AOTInductor, templates that are benchmarked) the program ends there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
import torch._dynamo

from .hooks import Hooks
from .program import Stop
from .units import Kernel


def stand_in(argtypes: Sequence[str]):
    """What a compiled kernel is called like; its results are zeros."""
    written = [i for i, kind in enumerate(argtypes) if kind.strip().endswith("*") and not kind.startswith("const")]

    def kernel(*args: Any) -> None:
        with torch.no_grad():
            for i in written:
                if i < len(args) and isinstance(args[i], torch.Tensor):
                    args[i].zero_()

    return kernel


@contextmanager
def savings(hooks: Hooks) -> Iterator[None]:
    """Less work for Dynamo that changes nothing but time: no timing of guards (12 % of what a program of 3-10 operators
    costs without its C++) and no garbage collection after each compilation (2 %)."""
    with ExitStack() as stack:
        if hooks.guard_profiler is not None:
            stack.enter_context(patch.object(*hooks.guard_profiler, lambda *args, **kwargs: 0.0))
        if hooks.quiet_dynamo:
            stack.enter_context(torch._dynamo.config.patch(hooks.quiet_dynamo))
        yield


@contextmanager
def no_compiler(hooks: Hooks, kernels: list[Kernel]) -> Iterator[None]:
    """No g++ inside: bindings return stand-ins and leave the kernel in `kernels`, any other build raises
    Stop. With the savings."""

    def load_pybinding(cls, argtypes, *args, **kwargs):
        if cls is not hooks.bindings_cache:  # cpp_wrapper's: it calls back into C++ that does not exist
            raise Stop
        if args and isinstance(args[0], str):
            kernels.append((tuple(argtypes), args[0]))
        return stand_in(argtypes)

    def build(*args, **kwargs):
        raise Stop

    with ExitStack() as stack:
        if hooks.bindings_cache is not None:
            stack.enter_context(patch.object(hooks.bindings_cache, "load_pybinding", classmethod(load_pybinding)))
        for owner, name in hooks.builders:
            stack.enter_context(patch.object(owner, name, build))
        stack.enter_context(savings(hooks))
        yield
