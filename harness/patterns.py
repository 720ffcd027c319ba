"""The patterns that Inductor's passes look for, as data: what the installed torch registers in `_inductor.fx_passes`.

A pattern is {"name", "where", "nodes", "outputs", "needs"}; "needs" are the config patches without which its pass is
off. A node is {"ops", "args", "kwargs", "users"}: the operators that
match ("aten.mm", "torch.split", "Tensor.split", "operator.getitem"), its arguments (None: any), and how many users it
has (None: any number). Or it is an input of a known type: {"type"}. An argument is one of {"node": index},
{"any": name} (a wildcard; those of one name are the same), {"each": argument} (a list of one or more), {"list": [...]},
{"literal": packed as ir.wire does}. Nodes come after what they use.

Patterns that torch makes by tracing a function are given as that function's own calls where torch keeps its examples:
they have the concrete attributes that the traced form leaves out.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgpack

from . import forked, passes
from .prepare import warm_folder

SECONDS = 100.0


def patterns() -> list[dict[str, Any]]:
    """All of them, in the order of registration. Registers what torch registers late: for a process of its own."""
    import torch
    from torch._inductor import fx_passes, pattern_matcher

    names = [f"{fx_passes.__name__}.{module.name}" for module in pkgutil.iter_modules(fx_passes.__path__)]
    modules = [importlib.import_module(name) for name in names]
    for module in modules:
        # Each module that registers late has such a function; compiling calls it.
        if hasattr(module, "lazy_init"):
            module.lazy_init(torch.device("cpu"))
    return [described(where, entry) for where, entry in entries(modules, pattern_matcher)] + passes.groups()


def described(where: str, entry: Any) -> dict[str, Any]:
    """A registered entry as data, equal whether it has crossed a pipe or not."""
    from torch._inductor import pattern_matcher

    traced = {id(pattern): call for pattern, call in searches(pattern_matcher)}
    call = traced.get(id(entry.pattern))
    form = recorded(*call) if call is not None else Tree().read(entry.pattern)
    name = getattr(entry, "pattern_name", None) or ""
    made = {"name": name, "where": where, **form, "needs": passes.needs(where)}
    plain: dict[str, Any] = msgpack.unpackb(msgpack.packb(made))
    return plain


def cached() -> list[dict[str, Any]]:
    """As `patterns`, in a fork, so that what that imports and registers does not stay in this process; and once for
    each torch on this machine: it takes 3 s on an idle core. Raises RuntimeError where the fork dies."""
    file = cache_file()
    with suppress(OSError, ValueError):
        kept: list[dict[str, Any]] = msgpack.unpackb(file.read_bytes())
        return kept
    found = forked.call(lambda: {"patterns": patterns()}, SECONDS)
    if isinstance(found, str):
        raise RuntimeError(found)
    part = file.with_name(f"{file.name}-{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(msgpack.packb(found["patterns"]))
        part.rename(file)
    except OSError:  # the disk is full or read-only: the next process asks again
        part.unlink(missing_ok=True)
    made: list[dict[str, Any]] = found["patterns"]
    return made


def cache_file() -> Path:
    """Beside what a warm-up leaves for this torch; another one for each state of torch's passes and of this file."""
    torch_folder = Path(importlib.util.find_spec("torch").origin).parent / "_inductor"
    ours, theirs = (Path(__file__), Path(passes.__file__)), sorted((torch_folder / "fx_passes").glob("*.py"))
    sources = [*ours, torch_folder / "pattern_matcher.py", *theirs]
    states = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in sources]
    key = hashlib.sha256(repr(states).encode()).hexdigest()[:16]
    return warm_folder().parent.with_name("patterns") / f"{warm_folder().name}-{key}"


def searches(matcher: Any) -> Iterator[tuple[Any, tuple[Any, Any, Any]]]:
    """Patterns that have been traced ahead, each with the function, its example inputs, and its scalars by name."""
    for known in matcher._known_precompiled_patterns:
        function, inputs, _, scalars, pattern = known if isinstance(known, tuple) else vars(known).values()
        yield pattern, (function, inputs, scalars or {})


def entries(modules: list[Any], matcher: Any) -> Iterator[tuple[str, Any]]:
    """Registered entries with the pass that they belong to, each once."""
    seen: set[int] = set()
    for module in modules:
        for name, value in list(vars(module).items()):
            for number, matching in enumerate(_passes_in(value, matcher.PatternMatcherPass)):
                where = matching.pass_name or f"{module.__name__.rpartition('.')[2]}.{name}[{number}]"
                for entry in (e for group in matching.patterns.values() for e in group):
                    if id(entry) not in seen:
                        seen.add(id(entry))
                        yield where, entry


def _passes_in(value: Any, kind: type) -> Iterator[Any]:
    if isinstance(value, kind):
        yield value
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _passes_in(item, kind)


def operator_name(function: Any) -> str:
    """Of a target of a graph's node or a callable that torch dispatches: a packet, or a dotted Python name."""
    import torch
    from torch.overrides import resolve_name

    if isinstance(function, torch._ops.OpOverload):
        function = function._overloadpacket
    if isinstance(function, torch._ops.OpOverloadPacket):
        return str(function)
    if isinstance(function, str):
        return f"Tensor.{function}"
    if isinstance(function, type):
        return f"module {function.__name__}"
    module = (getattr(function, "__module__", None) or "torch").lstrip("_")
    name = resolve_name(function) or f"{module}.{function.__name__}"
    return name.replace("torch.Tensor.", "Tensor.")


def literal(value: Any) -> dict[str, Any]:
    from ..ir import wire

    return {"literal": wire.pack_value(value)}


class Tree:
    """A tree of torch's pattern expressions (a graph, where they are shared) as nodes."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.known: dict[int, dict[str, Any]] = {}

    def read(self, pattern: Any) -> dict[str, Any]:
        from torch._inductor import pattern_matcher

        several = isinstance(pattern, pattern_matcher.MultiOutputPattern)
        outputs = [p for p in pattern.outputs if p is not None] if several else [pattern]
        found = [self.argument(p)["node"] for p in outputs]
        return {"nodes": self.nodes, "outputs": found}

    def argument(self, value: Any) -> dict[str, Any]:
        from torch._inductor import pattern_matcher as matcher

        if isinstance(value, matcher.RepeatedExpr):
            return self.argument(value.inner_pattern)
        if isinstance(value, matcher._TargetExpr):
            if id(value) not in self.known:
                self.known[id(value)] = self.call(value)
            return self.known[id(value)]
        if isinstance(value, matcher.ListOf):
            return {"each": self.argument(value.pattern)}
        if isinstance(value, matcher.KeywordArg | matcher.ExclusiveKeywordArg):
            return {"any": value.name}
        if isinstance(value, matcher.PatternExpr):
            # Arg, Ignored, and what is not known here: of those nothing is asked.
            return {"any": ""}
        if isinstance(value, list | tuple):
            return {"list": [self.argument(v) for v in value]}
        return literal(value)

    def call(self, pattern: Any) -> dict[str, Any]:
        from torch._inductor import pattern_matcher as matcher

        given = getattr(pattern, "args", None)  # those that match any arguments have none
        args = None if given is None else [self.argument(a) for a in given]
        kwargs = {k: self.argument(v) for k, v in getattr(pattern, "kwargs", {}).items()}
        users = None if isinstance(pattern.users, matcher.Multiple) else pattern.users
        ops = list(dict.fromkeys(map(operator_name, pattern.fns)))
        self.nodes.append({"ops": ops, "args": args, "kwargs": kwargs, "users": users})
        return {"node": len(self.nodes) - 1}


def recorded(function: Any, inputs: Any, scalars: dict[str, Any]) -> dict[str, Any]:
    """What a function calls on its example inputs."""
    import torch
    from torch._dynamo.utils import detect_fake_mode
    from torch.utils._pytree import tree_leaves

    recording = Recording()
    for value in tree_leaves(inputs):
        if isinstance(value, torch.Tensor):
            recording.input(value)
    fake = detect_fake_mode(inputs)
    assert fake is not None
    with fake, recording.mode():
        result = function(*inputs, **scalars)
    outputs = [recording.known[id(t)] for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
    return {"nodes": recording.nodes, "outputs": outputs}


class Recording:
    """The calls of torch's functions on tensors, as nodes; what they compute that is no tensor becomes a literal."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.known: dict[int, int] = {}
        self.alive: list[Any] = []

    def mode(self) -> Any:
        from torch.overrides import TorchFunctionMode

        recording = self

        class Mode(TorchFunctionMode):
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                result = func(*args, **(kwargs or {}))
                recording.call(func, args, kwargs or {}, result)
                return result

        return Mode()

    def input(self, tensor: Any) -> None:
        from ..ir import types, wire

        kind = types.TensorType(
            types.FROM_TORCH[tensor.dtype], tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset())
        )
        self._add(tensor, {"type": wire.pack_type(kind)})

    def call(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        import torch

        if isinstance(result, torch.Tensor):
            self._add(result, self._node(function, args, kwargs))
        elif isinstance(result, tuple | list) and any(isinstance(t, torch.Tensor) for t in result):
            self.nodes.append(self._node(function, args, kwargs))
            whole = len(self.nodes) - 1
            for index, item in enumerate(result):
                item_args = [{"node": whole}, literal(index)]
                self._add(item, {"ops": ["operator.getitem"], "args": item_args, "kwargs": {}, "users": None})

    def _node(self, function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
        return {
            "ops": [operator_name(function)], "args": [self._argument(a) for a in args],
            "kwargs": {k: self._argument(v) for k, v in kwargs.items()}, "users": None,
        }  # fmt: skip

    def _argument(self, value: Any) -> dict[str, Any]:
        import torch

        if isinstance(value, torch.Tensor):
            return {"node": self.known[id(value)]}
        if isinstance(value, list | tuple):
            return {"list": [self._argument(v) for v in value]}
        return literal(value)

    def _add(self, tensor: Any, node: dict[str, Any]) -> None:
        if id(tensor) in self.known:  # a call that gave its operand back
            return
        self.nodes.append(node)
        self.known[id(tensor)] = len(self.nodes) - 1
        self.alive.append(tensor)  # so that no other gets its id
