"""Python for the operators of the language that are not torch's: items, calls, effects on Python state."""

from __future__ import annotations

from collections.abc import Callable

import torch.fx as fx

from ..errors import ProgramError
from ..ir.program import op_of
from .literals import Namer, literal
from .spelling import Spelled


def spell_builtin(node: fx.Node, name: Namer) -> Spelled | None:
    """The built-in operator's Python; None for an operator of torch. Raises ProgramError for wrong arguments."""
    maker = _MAKERS.get(op_of(node))
    if maker is None:
        return None
    args = [literal(a, name) for a in node.args]
    kwargs = {k: literal(v, name) for k, v in node.kwargs.items()}
    try:
        return maker(*args, **kwargs)
    except TypeError:
        raise ProgramError(f"{op_of(node)} does not take {len(args)} arguments", where=f"node {node.name}") from None


def _call(function: str, *args: str) -> Spelled:
    return Spelled(f"{function}({', '.join(args)})", value="effect")


def _gradient(outputs: str, inputs: str, create_graph: str = "False") -> Spelled:
    more = "" if create_graph == "False" else f", create_graph={create_graph}"
    return Spelled(f"torch.autograd.grad({outputs}, {inputs}{more})")


def _object(**attributes: str) -> Spelled:
    return Spelled(f"Object({', '.join(f'{k}={v}' for k, v in attributes.items())})")


def _attribute(key: str) -> str:
    """A state's attribute name from the literal that holds it."""
    name = key.strip("\"'")
    if not name.isidentifier():
        raise ProgramError(f"{key} is no attribute name")
    return name


_MAKERS: dict[str, Callable[..., Spelled]] = {
    "getitem": lambda x, i: Spelled(f"{x}[{i}]"),
    "call": _call,
    "closure": lambda factory, *captures: Spelled(f"{factory}({', '.join(captures)})"),
    "autograd.grad": _gradient,
    "state.object": _object,
    "state.append": lambda s, v: Spelled(f"{s}.append({v})", value="effect"),
    "state.pop": lambda s, i="": Spelled(f"{s}.pop({i})", value="effect"),
    "state.setitem": lambda s, k, v: Spelled(f"{s}[{k}] = {v}", True, "None"),
    "state.getitem": lambda s, k: Spelled(f"{s}[{k}]"),
    "state.setattr": lambda s, k, v: Spelled(f"{s}.{_attribute(k)} = {v}", True, "None"),
    "state.getattr": lambda s, k: Spelled(f"{s}.{_attribute(k)}"),
    "state.assign": lambda s, v: Spelled(f"{s} = {v}", True, "None", rebinds=True),
    "state.read": lambda s: Spelled(s),
    "state.len": lambda s: Spelled(f"len({s})"),
}
