"""A recorded FX graph becomes a program: its calls operators of the grammar, or verbatim Python where that has none."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.fx as fx

from ..errors import ProgramError
from ..grammar import RuleBook
from ..ir.builder import Builder, FunctionBuilder, Rejected
from ..ir.function import usable_name
from ..ir.infer import Inference
from ..ir.program import Call, Context, Program, Ref, Region, root_of, types_in
from ..ir.recorded import Mode, Recorded, RecordedNode
from ..ir.types import DTYPES, AnyType, ScalarType, SequenceType, TensorType, Type
from ..ir.typing import bind_parameters, operands
from ..render.literals import literal
from .targets import Targets, dunder, forms

# What Dynamo, export and make_fx put around the name that a tensor has in the user's code.
_NOISE = frozenset(("", "l", "self", "fn", "args", "kwargs", "modules", "parameters", "buffers", "p", "b", "stack0"))
# So many words of a module path still tell parameters apart.
_WORDS = 3


class Refused(Exception):
    """A graph that cannot become a program; the text says why."""


@dataclass(frozen=True)
class Imported:
    """A program, and which calls in it are verbatim Python, by target, how often."""

    program: Program
    python: dict[str, int]


class Converter:
    """Makes programs of recorded graphs. Pure: equal graphs give equal programs."""

    def __init__(self, book: RuleBook, infer: Inference) -> None:
        self.book, self.infer = book, infer
        self.targets = Targets(book)

    def convert(self, recorded: Recorded) -> Imported:
        """Raises Refused."""
        if recorded.refused is not None:
            raise Refused(recorded.refused)
        if not recorded.nodes:
            raise Refused("it has no operators")
        try:
            return _Conversion(self, recorded).run()
        except (Rejected, ProgramError) as error:
            raise Refused(str(error)) from error


class _Conversion:
    def __init__(self, owner: Converter, recorded: Recorded) -> None:
        self.owner, self.recorded = owner, recorded
        self.builder = Builder(owner.infer, owner.book.check)
        self.python: Counter[str] = Counter()
        self.made: dict[str, fx.Node] = {}
        self.modes: list[tuple[fx.Node, Mode]] = []
        # Programs' types leave autocast out of account.
        self.exact = not any(mode.autocast for mode in (recorded.mode, *(n.mode for n in recorded.nodes)))

    def run(self) -> Imported:
        self.function = self._head()
        for node in self.recorded.nodes:
            made = self._operator(node) or self._verbatim(node)
            self.made[node.name] = made
            self.modes.append((made, node.mode))
        result = self._mine(self.recorded.result)
        # Dynamo returns a tuple always.
        self.function.returns(result[0] if isinstance(result, tuple | list) and len(result) == 1 else result)
        self._regions()
        grad = self.recorded.mode.grad and any(
            isinstance(t, TensorType) and t.requires_grad and t.info.kind in ("float", "complex")
            for t in map(types_in, operands(self.function.result))
        )
        self.builder.set_options(grad=grad)
        return Imported(self.builder.build(), dict(self.python))

    def _head(self) -> FunctionBuilder:
        """The inputs, the call of the function, the function with its parameters."""
        names: dict[str, str] = {}
        for spec in self.recorded.inputs:
            names[spec.name] = self._free(short(spec.name), set(names.values()))
        for spec in self.recorded.inputs:
            view_of = None if spec.view_of is None else names[spec.view_of]
            self.builder.add_input(replace(spec, name=names[spec.name], view_of=view_of))
        params = list(names.values())
        self.builder.add_call(Call("f", tuple(map(Ref, params)), contexts(self.recorded.mode)))
        types = bind_parameters(self.builder, "f", params) or []
        function = self.builder.function("f", list(zip(params, types, strict=True)))
        self.made = {name: function.node(mine) for name, mine in names.items()}
        return function

    def _free(self, stem: str, taken: set[str]) -> str:
        """The stem where it is a usable name that is free, else one made of it."""
        try:
            usable_name(stem)
        except ProgramError:  # such as a built-in function's
            stem = re.sub(r"\W", "_", stem).strip("_") or "v"
            stem = f"{stem if stem[0].isalpha() else f'v{stem}'}0"
        if stem not in taken | self.builder.taken | {"f"}:
            return stem
        return next(n for i in itertools.count() if (n := f"{stem}{i}") not in taken | self.builder.taken)

    def _mine(self, structure: Any) -> Any:
        """A recorded structure with the program's nodes in place of Refs."""
        if isinstance(structure, Ref):
            return self.made[structure.name]
        if isinstance(structure, tuple | list):
            return type(structure)(map(self._mine, structure))
        if isinstance(structure, dict):
            return {k: self._mine(v) for k, v in structure.items()}
        if isinstance(structure, slice):
            return slice(self._mine(structure.start), self._mine(structure.stop), self._mine(structure.step))
        return structure

    # --- calls

    def _operator(self, node: RecordedNode) -> fx.Node | None:
        """The call by the first rule that takes it and gives what the graph gave; None where there is none."""
        args, kwargs = self._mine(node.args), self._mine(node.kwargs)
        if dunder(node) == "__getitem__" and isinstance(types_in(args[0]), SequenceType | AnyType):
            kind = self.function.typed("getitem", args, kwargs)
            found = self._declared(node.type) if isinstance(kind, AnyType) else kind
            return self._add(node, "getitem", args, kwargs, found, None)
        for candidate in self.owner.targets.candidates(node):
            for own_args, own_kwargs in forms(candidate.rule, node, args, kwargs):
                accepted = self._accepted(candidate.rule.op, own_args, own_kwargs)
                if accepted is not None and agree(node.type, accepted, self.exact):
                    fits = candidate.rule.spellings_for(types_in(own_args), types_in(own_kwargs))
                    spelling = candidate.spelling if candidate.spelling in fits else None
                    return self._add(node, candidate.rule.op, own_args, own_kwargs, accepted, spelling)
        return None

    def _accepted(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Type | None:
        try:
            return self.function.typed(op, args, kwargs)
        except (Rejected, ProgramError):
            return None

    def _verbatim(self, node: RecordedNode) -> fx.Node:
        """The call as Python writes it."""
        args, kwargs = self._mine(node.args), self._mine(node.kwargs)
        name = self._free(node.name, set())
        source = statement(node, args) or f"{name} = {written(node, args, kwargs)}"
        used = tuple(dict.fromkeys(operands((args, kwargs))))
        self.python[node.target] += 1
        return self._add(replace(node, name=name), "python", used, {}, self._declared(node.type), None, source)

    def _add(
        self, node: RecordedNode, op: str, args: tuple[Any, ...], kwargs: dict[str, Any], found: Type,
        spelling: str | None, source: str | None = None,
    ) -> fx.Node:  # fmt: skip
        name = self._free(node.name, set())
        try:
            return self.function.op(op, args, kwargs, name=name, spelling=spelling, type=found, source=source)
        except ProgramError:  # a name that FX keeps for itself
            if source is not None:
                raise
            return self.function.op(op, args, kwargs, spelling=spelling, type=found)

    def _declared(self, kind: Type) -> Type:
        """A recorded type with the program's names for roots, on the CPU."""
        if isinstance(kind, SequenceType):
            return replace(kind, items=tuple(map(self._declared, kind.items)))
        if isinstance(kind, TensorType):
            root = self.made.get(kind.alias or "")
            return kind.with_(device="cpu", alias=None if root is None else root_of(root))
        return kind

    # --- contexts

    def _regions(self) -> None:
        """Runs of nodes in another mode than the caller's become forms."""
        outer = self.recorded.mode
        for mode, run in itertools.groupby(self.modes, key=lambda item: item[1]):
            nodes = [node.name for node, _ in run]
            if mode.grad != outer.grad:
                form = "enable_grad" if mode.grad else "no_grad"
                self.function.regions.append(Region(form, nodes[0], nodes[-1]))
            if mode.autocast != outer.autocast:
                dtype = None if mode.autocast is None else DTYPES[mode.autocast].torch_dtype
                self.function.regions.append(Region("autocast", nodes[0], nodes[-1], (dtype,)))


def contexts(mode: Mode) -> tuple[Context, ...]:
    """What the call must be in, so that its code runs in this mode."""
    found = [Context("inference_mode")] if mode.inference else [] if mode.grad else [Context("no_grad")]
    return (*found, *([Context("autocast", (mode.autocast,))] if mode.autocast else []))


def agree(real: Type, inferred: Type, exact: bool = True) -> bool:
    """Whether a call gives what the graph gave: dtypes (`exact`: else their kinds), shapes, structure. Strides are
    FakeTensor's to know."""
    if isinstance(inferred, AnyType) or isinstance(real, AnyType):
        return True
    if isinstance(real, TensorType) and isinstance(inferred, TensorType):
        same = real.dtype == inferred.dtype if exact else real.info.kind == inferred.info.kind
        return same and real.shape == inferred.shape
    if isinstance(real, SequenceType) and isinstance(inferred, SequenceType):
        return len(real.items) == len(inferred.items) and all(
            agree(r, i, exact) for r, i in zip(real.items, inferred.items, strict=True)
        )
    return type(real) is type(inferred) and (not isinstance(real, ScalarType) or real == inferred)


def short(name: str) -> str:
    """An input's name without what tracers put around it: `linear1_weight` for
    `l_self_modules_layers_modules_0_modules_linear1_parameters_weight_`."""
    words = [w for w in name.lower().split("_") if w not in _NOISE][-_WORDS:]
    while words and words[0].isdigit():
        del words[0]
    return "_".join(words) or "x"


def statement(node: RecordedNode, args: tuple[Any, ...]) -> str | None:
    """The statement that a call of Python's syntax stands for, where that is no expression: an item is assigned."""
    if dunder(node) != "__setitem__":
        return None
    target, index, value = (literal(a, _name) for a in args)
    return f"{target}[{index}] = {value}"


def written(node: RecordedNode, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """A call as Python source that needs the name `torch` only; operands by their names."""
    texts = [literal(a, _name) for a in args]
    named = [f"{k}={literal(v, _name)}" for k, v in kwargs.items()]
    if node.method:
        return f"{texts[0]}.{node.target}({', '.join([*texts[1:], *named])})"
    special = dunder(node)
    if special is not None:
        word = special.strip("_")
        templates = {**fx.graph.magic_methods, "getitem": "{}[{}]"}
        if word in templates and not named:
            return str(templates[word]).format(*texts)
    if node.target.partition(".")[0] != "torch":
        raise Refused(f"it calls {node.target}, which the grammar does not know")
    found: Any = torch
    for part in node.target.split(".")[1:]:
        found = getattr(found, part, None)
    if not callable(found):
        raise Refused(f"it calls {node.target}, which this torch does not have")
    return f"{node.target}({', '.join([*texts, *named])})"


def _name(value: Any) -> str:
    return str(value.name)
