"""Recorded graphs without a process: `record(f, *inputs)` traces with FX, runs and records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.fx as fx

from fuzzgraph.harness.recording.graph import Recorder
from fuzzgraph.ir.recorded import Recorded, pack, unpack


def record(function: Callable[..., Any], *inputs: Any) -> Recorded:
    """What recording the function on these inputs gives, through its form on pipes."""
    _, recorded = Recorder(fx.symbolic_trace(function), "here").record(*inputs)
    again = unpack(pack(recorded))
    assert again == recorded
    return again
