"""Source of the helpers that a rendered module uses."""

from __future__ import annotations

import functools
import inspect
from types import ModuleType

from . import helpers


@functools.cache
def names(module: ModuleType = helpers) -> frozenset[str]:
    """What a module of helpers defines."""
    return frozenset(k for k, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__)


@functools.cache
def source(name: str, module: ModuleType = helpers) -> str:
    """The definition of that helper, without a line break at the end."""
    return inspect.getsource(getattr(module, name)).rstrip()
