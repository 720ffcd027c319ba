"""Operators of the program language that are not torch's, and how an operator's name becomes a callable.

Functions of Python's own (`operator.floordiv`, `math.ceil`, `builtins.len`) have rules in the grammar as torch's have.

The functions here are targets of `call_function` nodes; a graph can be interpreted with them, but what a campaign
executes is the rendered source.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import math
import operator
from collections.abc import Callable
from types import GetSetDescriptorType, ModuleType, SimpleNamespace
from typing import Any

import torch

from ..errors import ProgramError


def call(function: Callable[..., Any], *args: Any) -> Any:
    """Call another function, a closure, or a captured callable."""
    return function(*args)


def python(*args: Any) -> Any:
    """Verbatim Python source (`meta["source"]`) that reads its arguments by name and assigns the node's own name."""
    raise RuntimeError("a python node is executed by its rendered source only")


def closure(factory: Callable[..., Any], *captures: Any) -> Any:
    """An instance of a function with captures, made inside another function; the graph calls what makes it."""
    return factory(*captures)


def gradient(outputs: Any, inputs: Any, create_graph: bool = False) -> Any:
    """Gradients inside the program: a tuple, one for each of the inputs, which the outputs were made of."""
    return torch.autograd.grad(outputs, inputs, create_graph=create_graph)


def state_object(**attributes: Any) -> Any:
    """A new object with these attributes."""
    return SimpleNamespace(**attributes)


def state_append(state: Any, value: Any) -> None:
    state.append(value)


def state_pop(state: Any, index: Any = -1) -> Any:
    return state.pop(index)


def state_setitem(state: Any, key: Any, value: Any) -> None:
    state[key] = value


def state_getitem(state: Any, key: Any) -> Any:
    return state[key]


def state_setattr(state: Any, name: str, value: Any) -> None:
    setattr(state, name, value)


def state_getattr(state: Any, name: str) -> Any:
    return getattr(state, name)


def state_assign(state: Any, value: Any) -> None:
    """Rebind a global: `global s; s = value`."""
    raise RuntimeError("rebinding a global is executed by its rendered source only")


def state_read(state: Any) -> Any:
    return state


def state_len(state: Any) -> int:
    return len(state)


BUILTINS: dict[str, Callable[..., Any]] = {
    "getitem": operator.getitem,
    "call": call,
    "python": python,
    "closure": closure,
    "autograd.grad": gradient,
    "state.object": state_object,
    "state.append": state_append,
    "state.pop": state_pop,
    "state.setitem": state_setitem,
    "state.getitem": state_getitem,
    "state.setattr": state_setattr,
    "state.getattr": state_getattr,
    "state.assign": state_assign,
    "state.read": state_read,
    "state.len": state_len,
}

# What writes Python state, and whether its argument behind the state says where.
STATE_WRITES = {"state.append": False, "state.setitem": True, "state.setattr": True, "state.assign": False}

# Python's modules whose functions programs may call by their dotted name; of `builtins`, those that only compute.
PYTHON: dict[str, ModuleType] = {"builtins": builtins, "math": math, "operator": operator}
_PURE = frozenset(("abs", "bool", "divmod", "float", "int", "len", "max", "min", "pow", "round", "sum"))

# Results of these are opaque unless the text says otherwise.
OPAQUE = frozenset(BUILTINS) - {"getitem"}


# Modules of torch with operators that `import torch` does not import.
LATE_MODULES = ("nn.attention.flex_attention",)


def torch_attribute(path: str) -> Any:
    """What `torch.<path>` is, or None. Never leaves torch: modules that torch's happen to import are not its names."""
    for module in LATE_MODULES:
        if path.startswith(f"{module}."):
            importlib.import_module(f"torch.{module}")
    found: Any = torch
    for part in path.split("."):
        found = getattr(found, part, None)
        if isinstance(found, ModuleType) and found.__name__.partition(".")[0] != "torch":
            return None
    return found


# `vmap.of(f, x, in_dims = 1)` is `torch.vmap(f, in_dims=1)(x)`: what a transform of a function gives on operands.
APPLIED = ".of"


def _applied(transform: Callable[..., Any], function: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
    return transform(function, **keywords)(*operands)


def is_python(op: str) -> bool:
    """Whether an operator is a function of Python's own, such as `operator.floordiv`."""
    return op.partition(".")[0] in PYTHON


def _python_function(op: str) -> Callable[..., Any]:
    module, _, name = op.partition(".")
    found = None if name.startswith("_") else getattr(PYTHON[module], name, None)
    if not callable(found) or (module == "builtins" and name not in _PURE):
        hint = f"of builtins: {', '.join(sorted(_PURE))}" if module == "builtins" else ""
        raise ProgramError(f"unknown operator {op!r}: {module} has no such function for programs", hint=hint)
    return found  # type: ignore[no-any-return]


def is_attribute(op: str) -> bool:
    """Whether an operator is an attribute of tensors, `Tensor.T`, which is read and not called."""
    return op.startswith("Tensor.") and isinstance(torch_attribute(op), GetSetDescriptorType | property)


def _is_function(found: Any) -> bool:
    """Whether something of torch's may be an operator: classes, which some modules name too, are none."""
    return callable(found) and not isinstance(found, type)


# Where an operator may be that a text names by its last word alone.
_HOMES = ("nn.functional", "special", "linalg", "Tensor")


@functools.cache
def resolve(op: str) -> Callable[..., Any]:
    """The callable behind an operator's name: a built-in, a function of Python's own, the dotted name relative to
    torch, or that and `.of`.

    Raises ProgramError where there is no such callable.
    """
    if op in BUILTINS:
        return BUILTINS[op]
    if op.endswith(APPLIED):
        return functools.partial(_applied, resolve(op.removesuffix(APPLIED)))
    if is_python(op):
        return _python_function(op)
    found = torch_attribute(op)
    if is_attribute(op):
        return operator.attrgetter(op.rpartition(".")[2])
    if not _is_function(found):
        near = [name for name in (f"{home}.{op}" for home in _HOMES) if _is_function(torch_attribute(name))]
        hint = f"did you mean {' or '.join(near)}?" if near else "fuzzgraph grammar list names the operators"
        raise ProgramError(f"unknown operator {op!r}: this torch has no torch.{op}", hint=hint)
    return found  # type: ignore[no-any-return]
