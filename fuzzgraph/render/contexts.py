"""Contexts of calls and run options as `with` blocks and as arguments of torch.compile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..errors import ProgramError
from ..ir.program import Context, RunOptions
from .literals import dtype_text


def context_text(context: Context, device: str = "cpu") -> str:
    """What stands behind `with`. Raises ProgramError for an unknown context."""
    if context.name in ("no_grad", "enable_grad", "inference_mode"):
        return f"torch.{context.name}()"
    if context.name == "autocast":
        return f'torch.autocast("{device}", dtype={dtype_text(context.args[0])})'
    if context.name == "default_dtype":
        return f"default_dtype({dtype_text(context.args[0])})"
    raise ProgramError(f"unknown context {context.name!r}")


def option_contexts(options: RunOptions) -> tuple[Context, ...]:
    """The contexts that run options ask for, around each call."""
    found = [Context("inference_mode")] if options.inference else []
    return (*found, Context("autocast", (options.autocast,))) if options.autocast else tuple(found)


def compile_kwargs(options: RunOptions | Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of torch.compile that run options ask for; those at their default are left out."""
    plain = asdict(options) if isinstance(options, RunOptions) else options
    defaults = asdict(RunOptions())
    keys = ("dynamic", "fullgraph", "mode")
    return {k: plain[k] for k in keys if k in plain and plain[k] != defaults[k]}
