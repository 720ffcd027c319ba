"""What functions return: fewer leaves, no containers."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch.fx as fx

from ...ir.builder import Rejected
from ...ir.program import Program
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import GONE, edit_result

Path = tuple[Any, ...]


@reducer("drop_outputs", order=30)
class DropOutputs:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        found = []
        for f in program.functions:
            result = f.result
            if result is None:
                continue
            plain = leaves(result)
            for path, value in reversed(plain):
                place, how = f"{f.name} {path}", f"{f.name} does not return {value}"
                found.append(Change(place, how, edit_result(f.name, partial(_without, path)), joint=True))
            flat = plain[0][1] if len(plain) == 1 else tuple(v for _, v in plain)
            if repr(flat) != repr(result) and plain:
                change = edit_result(f.name, _flat)
                found.append(Change(f.name, f"{f.name} returns no containers", change))
        return found


def leaves(structure: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    """What is in nested containers, with its path."""
    if isinstance(structure, tuple | list):
        return [leaf for i, v in enumerate(structure) for leaf in leaves(v, (*path, i))]
    if isinstance(structure, dict):
        return [leaf for k, v in structure.items() for leaf in leaves(v, (*path, k))]
    return [(path, structure)]


def _without(path: Path, result: Any) -> Any:
    """The result with the leaf at a path gone; positions of others stay until the end of the reduction."""
    if not path:
        return GONE
    head, rest = path[0], path[1:]
    if isinstance(result, dict):
        return {k: _without(rest, v) if k == head else v for k, v in result.items()}
    if not isinstance(result, tuple | list):
        raise Rejected("the result has another shape")
    items = [_without(rest, v) if i == head else v for i, v in enumerate(result)]
    return tuple(items) if isinstance(result, tuple) else items


def _flat(result: Any) -> Any:
    found = [v for _, v in leaves(result) if isinstance(v, fx.Node)] or [v for _, v in leaves(result)]
    return found[0] if len(found) == 1 else tuple(found)
