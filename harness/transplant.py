"""Replaces the tensors that a program starts from by converted ones: another dtype, another device."""

from __future__ import annotations

import types
from typing import Any

import torch


class Foreign(Exception):
    """A tensor whose memory is not that of one plain tensor: sparse, quantized, nested, or of a subclass."""


class Transplant:
    """Converts tensors whole storage by whole storage, so that strides, offsets, overlap and sharing stay.

    A subclass says what `convert` does to a flat tensor, and `module` to a module.
    """

    def __init__(self) -> None:
        self.storages: dict[tuple[int, torch.dtype], torch.Tensor] = {}
        self.done: dict[int, Any] = {}
        self.kept: list[Any] = []  # what ids in `done` belong to must stay alive

    def convert(self, flat: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def module(self, module: torch.nn.Module) -> torch.nn.Module:
        raise NotImplementedError

    def foreign(self, tensor: torch.Tensor) -> torch.Tensor:
        """One that has no plain memory, converted. Raises Foreign where that cannot be."""
        raise Foreign(f"a tensor is {tensor.layout}, {tensor.dtype}, {type(tensor).__name__}")

    def everything(self, namespace: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """The inputs converted; and in place what the program's globals, its states and its closures hold."""
        for name, value in list(namespace.items()):
            if not name.startswith("__"):
                namespace[name] = self.value(value)
        return {name: self.value(value) for name, value in inputs.items()}

    def value(self, value: Any) -> Any:
        """The value with its tensors converted: tensors and tuples are replaced, all else is changed in place."""
        if id(value) in self.done:
            return self.done[id(value)]
        self.kept.append(value)
        if isinstance(value, torch.Tensor):
            self.done[id(value)] = self.tensor(value)
            return self.done[id(value)]
        if type(value) is tuple:
            return tuple(self.value(v) for v in value)
        self.done[id(value)] = value
        if isinstance(value, torch.nn.Module):
            return self.module(value)
        self._inside(value)
        return value

    def _inside(self, value: Any) -> None:
        if isinstance(value, list):
            value[:] = [self.value(v) for v in value]
        elif isinstance(value, dict):
            for key in value:
                value[key] = self.value(value[key])
        elif isinstance(value, types.FunctionType):
            for cell in value.__closure__ or ():
                try:
                    held = cell.cell_contents
                except ValueError:  # nothing is bound yet
                    continue
                if held is not value:
                    cell.cell_contents = self.value(held)
        elif isinstance(value, types.ModuleType | type):
            return
        elif hasattr(value, "__dict__"):
            for key, item in list(vars(value).items()):
                vars(value)[key] = self.value(item)

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_nested
        if not plain or tensor.layout != torch.strided or tensor.is_quantized:
            return self.foreign(tensor)
        raw = tensor.untyped_storage()
        key = (raw._cdata, tensor.dtype)
        if key not in self.storages:
            flat = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            flat = flat.set_(raw, 0, (raw.nbytes() // tensor.itemsize,), (1,))
            self.storages[key] = self.convert(flat)
        made = self.storages[key].as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        return made.requires_grad_(tensor.requires_grad)


class Mover(Transplant):
    """Moves tensors to a device."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device

    def convert(self, flat: torch.Tensor) -> torch.Tensor:
        return flat.to(self.device)

    def foreign(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.device)

    def module(self, module: torch.nn.Module) -> torch.nn.Module:
        return module.to(self.device)
