"""A run on FakeTensors: what torch believes of a program's types without computing any value."""

from __future__ import annotations

import os
import traceback
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)

from ..oracles._exceptions import cause_chain
from ..oracles._types import Run
from .program import Loaded, Variant, identity, run_once
from .transplant import Foreign, Transplant

# Values decide here, and there are none.
_CANNOT_SAY = (DataDependentOutputException, DynamicOutputShapeException, UnsupportedFakeTensorException, Foreign)
# Nor is there memory that `.numpy()` or `.tolist()` could read, and none of them can become one of a user's subclass.
_NO_TENSOR = ("is not supported for tensor subclasses", "Creating a new Tensor subclass")
# Loops among the operators that call functions need sizes that are not known.
_CALLING = f"{os.sep}_higher_order_ops{os.sep}"


def fake_run(loaded: Loaded) -> Run | None:
    """The program without backward, on FakeTensors with the metadata of its inputs; None where values decide what it
    does. Tensors in the results are FakeTensors."""
    mode = FakeTensorMode(allow_non_fake_inputs=False)

    def prepare(namespace: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        return Faker(mode).everything(namespace, inputs)

    plain = Loaded(loaded.code, loaded.source, {**loaded.options, "grad": False}, loaded.device)
    run = run_once(plain, identity, Variant(prepare=prepare, around=[lambda: mode]))
    if run.error is not None and any(map(_cannot_say, cause_chain(run.error))):
        return None
    return run


def _cannot_say(error: BaseException) -> bool:
    if isinstance(error, _CANNOT_SAY) or any(text in str(error) for text in _NO_TENSOR):
        return True
    frames = traceback.walk_tb(error.__traceback__)
    return any(_CALLING in frame.f_code.co_filename for frame, _ in frames)


class Faker(Transplant):
    """Replaces tensors by FakeTensors of the same metadata; those that share memory go on sharing it."""

    def __init__(self, mode: FakeTensorMode) -> None:
        super().__init__()
        self.mode = mode

    def convert(self, flat: torch.Tensor) -> torch.Tensor:
        return self.mode.from_tensor(flat)

    def module(self, module: torch.nn.Module) -> torch.nn.Module:
        for part in module.modules():
            for name, value in part._parameters.items():
                if value is not None:
                    part._parameters[name] = torch.nn.Parameter(self.tensor(value.detach()), value.requires_grad)
            for name, value in part._buffers.items():
                part._buffers[name] = self.value(value)
        return module

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if isinstance(tensor, FakeTensor):
            return tensor
        return super().tensor(tensor)
