"""Shared by targets that are one back end of torch.compile."""

from __future__ import annotations

from typing import Any

CPU = {"CUDA_VISIBLE_DEVICES": ""}


def compiled(backend: str, kwargs: dict[str, Any]):
    """What stands for torch.compile with this back end. A program may have arguments of its own for a function: those
    of the job go before them, and a back end of its own takes the place of Inductor only."""
    import torch

    def wrap(function, **own):
        chosen = {"backend": backend, **own, **kwargs}
        if backend != "inductor":  # only Inductor has modes and options
            chosen = {k: v for k, v in chosen.items() if k not in ("mode", "options")} | {"backend": backend}
        return torch.compile(function, **chosen)

    return wrap
