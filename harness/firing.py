"""Which of the compiler's patterns a program meets."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from unittest.mock import patch

from . import passes
from .cover import no_compiler
from .hooks import Hooks
from .patterns import described, entries
from .program import Loaded, Stop, patched, run_once


def fired(source: str, options: dict[str, Any], target: Any, hooks: Hooks) -> list[dict[str, Any]]:
    """The patterns that are applied while a rendered program is compiled, up to the C++ compiler, and run on its zeros.
    `options` are its run options, config patches among them. Raises what the program raises."""
    # The search for the instruction set of this machine is a C++ compilation, too; patterns come before it.
    config = options.get("config") or {}
    with patched(config), firing() as found, suppress(Stop), no_compiler(hooks, []):
        run = run_once(Loaded.of(source, options), target.wrap({}))
        if run.error is not None:
            raise run.error
    return found


@contextmanager
def firing() -> Iterator[list[dict[str, Any]]]:
    """The list gets, at the end, the patterns that passes applied meanwhile, as `patterns` has them."""
    from torch._inductor import fx_passes, pattern_matcher

    applied: dict[int, Any] = {}
    found: list[dict[str, Any]] = []
    with ExitStack() as stack:
        for name in ("GraphPatternEntry", "LoweringPatternEntry", "ReplacementPatternEntry"):
            owner = getattr(pattern_matcher, name)

            def apply(entry: Any, *args: Any, original: Any = owner.apply, **kwargs: Any) -> Any:
                applied[id(entry)] = entry
                return original(entry, *args, **kwargs)

            stack.enter_context(patch.object(owner, "apply", apply))
        fused = stack.enter_context(_fusing())
        yield found
    prefix = f"{fx_passes.__name__}."
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith(prefix)]
    found += [described(where, entry) for where, entry in entries(modules, pattern_matcher) if id(entry) in applied]
    found += [group for group in passes.groups() if group["name"] in fused]


@contextmanager
def _fusing() -> Iterator[set[str]]:
    """The set gets the names of the group fusions that are applied."""
    fused: set[str] = set()
    with ExitStack() as stack:
        for name, kind in passes.fusions().items():

            def fuse(self: Any, *args: Any, name: str = name, original: Any = kind.fuse) -> Any:
                fused.add(name)
                return original(self, *args)

            stack.enter_context(patch.object(kind, "fuse", fuse))
        yield fused
