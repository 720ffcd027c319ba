"""Shared by targets that are one back end of torch.compile."""

from __future__ import annotations

from typing import Any

CPU = {"CUDA_VISIBLE_DEVICES": ""}


def compiled(backend: str, kwargs: dict[str, Any]):
    """What stands for torch.compile with this back end."""
    import torch

    if backend != "inductor":
        kwargs = {k: v for k, v in kwargs.items() if k != "mode"}  # only Inductor has modes

    def wrap(function):
        return torch.compile(function, backend=backend, **kwargs)

    return wrap
