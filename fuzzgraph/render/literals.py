"""Literals and operands as Python expressions."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx as fx

from ..errors import ProgramError
from ..ir.program import Ref, TorchName
from ..ir.types import DTYPES

# Longer lines are broken: reports are read in browsers.
WIDTH = 100

Namer = Callable[[Any], str]


def no_names(value: Any) -> str:
    """The namer of places that hold literals only."""
    raise ProgramError(f"{value!r} is a reference where only a literal can stand")


def literal(value: Any, name: Namer = no_names) -> str:
    """A Python expression for a literal, or a structure of literals and operands; `name` names nodes and Refs.

    The expression needs the name `torch` only. Raises ProgramError for what a program cannot hold.
    """
    if isinstance(value, fx.Node | Ref):
        return name(value)
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, complex):
        return f"complex({_real(value.real)}, {_real(value.imag)})"
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, str):
        return quoted(value)
    if value is Ellipsis:
        return "..."
    if isinstance(value, TorchName):
        return value.path
    if isinstance(value, torch.device):
        return f'torch.device("{value}")'
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return str(value)
    if isinstance(value, slice):
        return f"slice({', '.join(literal(v, name) for v in (value.start, value.stop, value.step))})"
    if isinstance(value, tuple):
        items = [literal(v, name) for v in value]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(value, list):
        return f"[{', '.join(literal(v, name) for v in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k, name)}: {literal(v, name)}" for k, v in value.items()) + "}"
    raise ProgramError(f"a program cannot hold {type(value).__name__} {value!r}")


def index_text(value: Any, name: Namer) -> str:
    """What stands between the brackets of `x[...]`: slices with colons, tuples without parentheses."""
    if isinstance(value, slice):
        start, stop, step = ("" if v is None else literal(v, name) for v in (value.start, value.stop, value.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")
    if isinstance(value, tuple) and value:
        inside = ", ".join(index_text(v, name) if isinstance(v, slice) else literal(v, name) for v in value)
        return inside + ("," if len(value) == 1 else "")
    return literal(value, name)


def dtype_text(dtype: Any) -> str:
    """`torch.bfloat16` from a dtype or from the short name that types use. Raises ProgramError."""
    found = DTYPES[dtype].torch_dtype if isinstance(dtype, str) and dtype in DTYPES else dtype
    if not isinstance(found, torch.dtype):
        raise ProgramError(f"{dtype!r} is no dtype", hint="one of " + ", ".join(DTYPES))
    return str(found)


def quoted(text: str) -> str:
    """A string literal in double quotes where that needs no escapes."""
    plain = repr(text)
    return f'"{plain[1:-1]}"' if '"' not in plain and plain[0] == "'" else plain


def wrapped(head: str, items: Sequence[str], tail: str = ")") -> str:
    """`head item, item tail`, broken into lines where it is too long for one."""
    flat = head + ", ".join(items) + tail
    if len(flat) <= WIDTH - 4:
        return flat
    body = textwrap.fill(", ".join(items) + ",", WIDTH - 8, break_long_words=False, break_on_hyphens=False)
    return head + "\n" + textwrap.indent(body, "    ") + "\n" + tail


def _real(value: float) -> str:
    if math.isnan(value):
        return "torch.nan"
    if math.isinf(value):
        return "torch.inf" if value > 0 else "-torch.inf"
    return repr(value)
