"""Recording one FX graph while it runs on real inputs: types, strides, storage sharing, grad modes."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import torch
import torch.fx as fx
from torch.fx.node import map_aggregate, map_arg
from torch.utils._pytree import tree_leaves, tree_map_only

from ...errors import ProgramError
from ...ir.program import InputSpec, Ref
from ...ir.recorded import Mode, Recorded, RecordedNode
from ...ir.types import FROM_TORCH, TensorType, Type
from ...ir.wire import pack_value
from ..describing import describe
from .values import observed

# An input that begins far inside its storage needs no more of it than keeps its alignment.
FAR, ALIGNMENT = 1024, 64


class Refused(Exception):
    """This graph cannot become a program; the text says why."""


class Recorder(fx.Interpreter):
    """Runs a graph once, as calling it would, and records it beside. `record` may be called once.

    What cannot be recorded is told in `Recorded.refused` and never disturbs the run.
    """

    def __init__(self, module: fx.GraphModule, origin: str = "") -> None:
        super().__init__(module)
        self.extra_traceback = False
        self.origin = origin or where(module)
        self.refused: str | None = None
        self.inputs: tuple[InputSpec, ...] = ()
        self.nodes: list[RecordedNode] = []
        self.result: Any = None
        # Nodes whose value is no part of the program but a number in it: sizes, dtypes, what follows from them.
        self.literals: dict[fx.Node, Any] = {}
        # The names of the roots of each node's tensors, in flattened order.
        self.roots: dict[fx.Node, list[str]] = {}

    def record(self, *args: Any) -> tuple[Any, Recorded]:
        """What the graph returns on these inputs, and its recording. Raises what running it raises."""
        mode = current_mode()
        self._attempt(self._note_inputs, args)
        result = self.run(*args)
        return result, Recorded(self.origin, self.inputs, tuple(self.nodes), self.result, mode, self.refused)

    def run_node(self, n: fx.Node) -> Any:
        if self.refused is not None or n.op in ("placeholder", "get_attr"):
            return super().run_node(n)
        before = current_mode()
        operands = [(t, root) for used in n.all_input_nodes for t, root in self._tensors(used)]
        if n.op == "output":
            self._attempt(self._note_result, n)
            return super().run_node(n)
        # Before the run: an operator in place may turn the shape that it is folded by.
        literal = self._folded(n)
        result = super().run_node(n)
        if current_mode() == before:  # else the node only switches modes, which every later node tells
            self._attempt(self._note, n, before, operands, result, literal)
        return result

    def _attempt(self, note: Any, *args: Any) -> None:
        try:
            note(*args)
        except (Refused, ProgramError, TypeError) as error:
            self.refused = str(error)
        except Exception as error:  # the user's script goes on; the importer tells it
            self.refused = f"it cannot be recorded: {type(error).__name__}: {error}"

    def _tensors(self, node: fx.Node) -> list[tuple[torch.Tensor, str]]:
        """The tensors in a node's value, each with the name of its root."""
        tensors = [t for t in tree_leaves(self.env.get(node)) if isinstance(t, torch.Tensor)]
        roots = self.roots.get(node, [])
        return list(zip(tensors, roots + [node.name] * (len(tensors) - len(roots)), strict=True))

    # --- inputs

    def _note_inputs(self, args: Sequence[Any]) -> None:
        found: list[tuple[fx.Node, torch.Tensor]] = []
        given = iter(args)
        for node in self.module.graph.nodes:  # type: ignore[union-attr]
            if node.op == "placeholder":
                value = next(given, None)
            elif node.op == "get_attr":
                value = self.fetch_attr(node.target)
            else:
                continue
            if isinstance(value, torch.nn.Module):
                raise Refused(f"{node.name} is a nested graph, which the importer does not take")
            if isinstance(value, torch.Tensor):
                found.append((node, value))
            else:
                self.literals[node] = portable(value)
        self.inputs = specs([(node.name, tensor) for node, tensor in found])
        bases = {s.name: s.view_of or s.name for s in self.inputs}
        self.roots = {node: [bases[node.name]] for node, _ in found}

    # --- nodes

    def _note(
        self, n: fx.Node, mode: Mode, operands: list[tuple[torch.Tensor, str]], result: Any, literal: list[Any]
    ) -> None:
        if literal and literal[0] == result:
            self.literals[n] = portable(result)
            return
        if result is None and not operands:
            return  # an assertion on sizes, which are fixed here
        if n.op == "call_module":
            kind = type(self.fetch_attr(str(n.target))).__name__
            raise Refused(f"{n.name} calls the module {n.target} (a {kind}) whole: capture it with torch.compile")
        roots: list[str] = []

        def alias_of(tensor: torch.Tensor) -> str | None:
            storage = tensor.untyped_storage()._cdata
            root = next((root for t, root in operands if t.untyped_storage()._cdata == storage), None)
            roots.append(root or n.name)
            return root

        found: Type = describe(result, alias_of)
        self.roots[n] = roots
        method = n.op == "call_method"
        target = str(n.target) if method else qualified(n.target)
        args, kwargs = self._plain(n.args), self._plain(n.kwargs)
        pack_value((args, kwargs))  # now, so that the refusal names the node
        self.nodes.append(RecordedNode(n.name, target, method, tuple(args), dict(kwargs), found, mode))

    def _note_result(self, n: fx.Node) -> None:
        self.result = self._plain(n.args[0])
        pack_value(self.result)

    def _plain(self, structure: Any) -> Any:
        """Arguments with a Ref in place of each node that is no literal."""
        return portable(map_arg(structure, lambda n: self.literals[n] if n in self.literals else Ref(n.name)))

    def _folded(self, n: fx.Node) -> list[Any]:
        """[the node's value] where that follows from types alone, else []: numbers, sizes, dtypes."""
        if n.op == "call_module":
            return []
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        said = tree_leaves([n.meta.get("example_value"), n.meta.get("val")])
        # Where the capture says that it gives a tensor, the trial below can be saved.
        if not n.all_input_nodes or any(isinstance(v, torch.Tensor) for v in said):
            return []
        from torch._subclasses.fake_tensor import FakeTensorMode

        try:
            with FakeTensorMode() as fake:
                args, kwargs = tree_map_only(torch.Tensor, fake.from_tensor, (args, kwargs))
                if n.op == "call_method":
                    value = getattr(args[0], str(n.target))(*args[1:], **kwargs)
                else:
                    value = n.target(*args, **kwargs)  # type: ignore[operator]
        except Exception:  # whatever it is: the value depends on more than types, as an item does
            return []
        plain = all(isinstance(v, bool | int | float | str | torch.dtype | torch.device) for v in tree_leaves(value))
        return [value] if plain and value is not None else []


def current_mode() -> Mode:
    on = torch.is_autocast_enabled("cpu")
    dtype = FROM_TORCH.get(torch.get_autocast_dtype("cpu")) if on else None
    return Mode(torch.is_grad_enabled(), dtype, torch.is_inference_mode_enabled())


def portable(value: Any) -> Any:
    """The value with devices replaced by the CPU (targets choose devices) and sizes as plain tuples."""

    def plain(v: Any) -> Any:
        return torch.device("cpu") if isinstance(v, torch.device) else v

    if isinstance(value, torch.Size):
        return tuple(value)
    return map_aggregate(value, plain)


def qualified(target: Any) -> str:
    """The full path of a function, from which the same function can be had again. Raises Refused."""
    if isinstance(target, torch._ops.HigherOrderOperator):
        raise Refused(f"it has the nested graph of {target}, which the importer does not take")
    if isinstance(target, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return f"torch.ops.{target}"
    name = fx.graph._get_qualified_name(target)
    if name.partition(".")[0] not in ("torch", "_operator", "math"):
        raise Refused(f"it calls {name}, which is not torch's")
    return name


# --- inputs


def specs(named: Sequence[tuple[str, torch.Tensor]]) -> tuple[InputSpec, ...]:
    """Input specs of tensors; those that share storage are views of the one of them that reaches farthest, which comes
    first."""
    groups: dict[tuple[int, torch.dtype], list[tuple[str, torch.Tensor, TensorType]]] = {}
    for name, tensor in named:
        found = describe(tensor, lambda _: None)
        assert isinstance(found, TensorType)
        # Views of another dtype become tensors of their own: the format has no such inputs.
        key = (tensor.untyped_storage()._cdata, tensor.dtype)
        groups.setdefault(key, []).append((name, tensor, found.with_(device="cpu")))
    seeds = {name: i for i, (name, _) in enumerate(named)}
    made: list[InputSpec] = []
    for group in groups.values():
        base = max(range(len(group)), key=lambda i: group[i][2].extent)
        name, tensor, found = group.pop(base)
        if not group and found.offset >= FAR:
            found = found.with_(offset=found.offset % ALIGNMENT)
        made.append(InputSpec(name, found, observed(tensor, seeds[name])))
        made += [InputSpec(other, kind, view_of=name) for other, _, kind in group]
    return tuple(made)


def where(module: fx.GraphModule) -> str:
    """The user's line that the first node with one comes from: `script.py:12 in forward`."""
    for node in module.graph.nodes:
        lines = re.findall(r'File "(.*?)", line (\d+), in (\S+)', node.stack_trace or "")
        if lines:
            file, line, function = lines[0]
            return f"{os.path.basename(file)}:{line} in {function}"
    return ""
