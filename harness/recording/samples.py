"""Recording samples of torch's own operator tests."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import sys
from fnmatch import fnmatchcase
from typing import Any

import torch

from . import hook


def record(spool: hook.Spool, pattern: str, count: int) -> None:
    """Up to `count` samples of each operator whose name matches. Samples that fail by themselves are told on stderr."""
    from .nothing import NothingThere, first_line

    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        hint = "pip install 'fuzzgraph[test]' has what torch's own tests import"
        raise NothingThere(f"op_db cannot be imported: {error} ({hint})") from error
    chosen = [info for info in op_db if fnmatchcase(info.name, pattern)]
    if not chosen:
        raise NothingThere(f"op_db has no operator {pattern!r}")
    for info in chosen:
        samples = info.sample_inputs("cpu", dtype_of(info))
        for index, sample in enumerate(itertools.islice(samples, count)):
            origin = f"op_db: {'.'.join(filter(None, (info.name, info.variant_test_name)))}, sample {index}"
            try:
                run_one(spool, info.op, sample, origin)
            except Exception as error:  # of the operator on its sample: nothing to import
                print(f"{origin}: {first_line(error)}", file=sys.stderr)


def dtype_of(info: Any) -> torch.dtype:
    """float32 where the operator takes it, else the first that it does."""
    order = (torch.float32, torch.int64, torch.bool, torch.complex64)
    known = info.dtypes or {torch.float32}
    return next((dtype for dtype in order if dtype in known), next(iter(known)))


def run_one(spool: hook.Spool, op: Any, sample: Any, origin: str) -> None:
    """One call, captured by Dynamo: what an operator's test function does around it is seen through."""

    def call(first: Any, args: Any, kwargs: Any) -> Any:
        return op(first, *args, **kwargs)

    torch._dynamo.reset()
    backend = functools.partial(hook.backend, _Named(spool, origin))
    torch.compile(call, backend=backend)(sample.input, sample.args, sample.kwargs)


class _Named:
    """A spool that gives graphs this origin."""

    def __init__(self, spool: hook.Spool, origin: str) -> None:
        self.spool, self.origin, self.problem = spool, origin, spool.problem

    def add(self, recorded: Any) -> None:
        self.spool.add(dataclasses.replace(recorded, origin=self.origin))
