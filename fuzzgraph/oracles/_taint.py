"""Which results of a program hold values that must not be compared, by data flow over its graphs.

Random numbers, memory that nobody wrote, results of operators whose rule calls them unstable, floats turned into
integers, rounded floats turned into truth values (a compare, a cast to bool: the last bit decides, and a zero is one by
luck), the bits of floats that were computed, read as integers (the last bit, and which NaN it is), and indices (where
ties are, either is right): whatever is computed from those is tainted too. An operator
that writes taints the storage that it writes to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch.fx as fx

from ..ir.builtins import BUILTINS, STATE_WRITES
from ..ir.layers import layer_of
from ..ir.nested import functions_in
from ..ir.program import Call, Function, Program, Ref, op_of, root_of, type_of
from ..ir.types import ScalarType, SequenceType, TensorType, Type, UnsizedType
from ..ir.typing import find_spec
from ..ir.typing import operands as nodes_in

if TYPE_CHECKING:
    from ..grammar import RuleBook

WHOLE = frozenset({"random", "uninitialized", "unstable", "nondeterministic"})

Path = tuple[int | str, ...]


@dataclass
class Taint:
    """`outputs`: paths (call, then position in the result) below which nothing is compared. `exact`: paths of tensors
    that no operator on the way rounded, so that the program's inputs decide each bit. `inputs` and `states`: names
    whose content is not compared. `sources`: operators that taint came from."""

    outputs: list[list[Any]] = field(default_factory=list)
    exact: list[list[Any]] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)


_last: tuple[Program | None, RuleBook | None, Taint] = (None, None, Taint())


def taint(program: Program, book: RuleBook | None) -> Taint:
    """The program's taint; without a rule book nothing is known and nothing tainted.

    Several oracles ask in a row, so the last answer is kept; programs and rule books never change.
    """
    global _last
    if book is None:
        return Taint()
    if _last[0] is not program or _last[1] is not book:
        _last = (program, book, _Flow(program, book).run())
    return _last[2]


def _rounds_to_integer(node: fx.Node) -> bool:
    """Whether floats become integers. Out of range that is undefined in C++, and next to a whole number the last bit
    decides: eager and compiled may differ and both be right."""
    kinds = map(_number_kind, map(type_of, node.all_input_nodes))
    return _number_kind(type_of(node)) == "int" and any(kind in ("float", "complex") for kind in kinds)


def _number_kind(kind: Type) -> str:
    """bool, int, float or complex: of the elements of a tensor, or of a Python number that types do not fix."""
    if isinstance(kind, TensorType | UnsizedType):
        return kind.info.kind
    return kind.kind if isinstance(kind, ScalarType) and kind.value is None else ""


def _is_exact(kind: Type) -> bool:
    return _number_kind(kind) in ("int", "bool")


def _decides(node: fx.Node) -> bool:
    """Whether floats become truth values."""
    return _number_kind(type_of(node)) == "bool"


def _follows_from_types(kind: Type) -> bool:
    """Whether a value is of sizes alone."""
    if isinstance(kind, SequenceType):
        return bool(kind.items) and all(map(_follows_from_types, kind.items))
    return isinstance(kind, ScalarType) and kind.value is not None


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, fx.Node]]:
    """The nodes in a result, with their positions in its structure."""
    if isinstance(value, fx.Node):
        yield path, value
    elif isinstance(value, tuple | list | dict):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(item, (*path, key))


class _Flow:
    """Fixpoint over all functions and calls; contexts of calls are merged."""

    def __init__(self, program: Program, book: RuleBook) -> None:
        self.program = program
        self.book = book
        self.roots: set[tuple[str, str]] = set()  # (function, root) of tainted storages
        self.values: set[tuple[str, str]] = set()  # (function, node) of tainted values
        self.items: dict[tuple[str, str], set[int]] = {}  # tainted items of a sequence
        self.states: set[str] = set()
        self.inputs: set[str] = set()
        self.results: set[str] = set()  # functions with a tainted result, for their callers
        self.sources: set[str] = set()
        self.rounded: set[tuple[str, str]] = set()  # (function, node or root) of floats that were rounded
        self.made: set[tuple[str, str]] = set()  # (function, root) with floats that an operator computed
        self.bits: set[tuple[str, str]] = set()  # (function, root) that are seen as floats and as integers

    def run(self) -> Taint:
        before: object = None
        while before != (before := self._size()):
            for function in self.program.functions:
                for node in function.graph.nodes:
                    if node.op == "call_function":
                        self._node(function, node)
                if self._paths(function):
                    self.results.add(function.name)
            for call in self.program.calls:
                self._call(call)
        outputs, exact, rounds = [], [], self._rounds_what_stays()
        for index, call in enumerate(self.program.calls):
            function = self.program.function(call.function)
            outputs += [[index, *path] for path in self._paths(function)]
            if not rounds:
                exact += [[index, *path] for path in self._exact_paths(function)]
        return Taint(outputs, exact, sorted(self.inputs), sorted(self.states), sorted(self.sources))

    def _size(self) -> tuple[int, ...]:
        items = sum(len(found) for found in self.items.values())
        names: tuple[set[Any], ...] = (
            self.rounded, self.made, self.bits, self.states, self.inputs, self.results, self.roots, self.values,
        )  # fmt: skip
        return (items, *map(len, names))

    def _tags(self, op: str) -> frozenset[str]:
        rule = self.book.rules.get(op)
        return rule.tags if rule is not None else frozenset()

    def _node(self, function: Function, node: fx.Node) -> None:
        op = op_of(node)
        tags = self._tags(op)
        operands = [n for n in node.all_input_nodes]
        if op == "getitem" and operands and self._item_only(function, node):
            return
        if _follows_from_types(type_of(node)):
            return
        dirty = any(self._is(function, n) for n in operands)
        if op == "call":
            dirty = self._inner_call(function, node) or dirty
        elif op not in BUILTINS:
            dirty = self._operator_calls(function, node, dirty) or dirty
        if tags & WHOLE or ("discontinuous" in tags and self._cuts(function, node, tags)):
            self.sources.add(op)
            dirty = True
        self._round(function, node, tags)
        if dirty:
            self._mark(function, node)
            if "inplace" in tags and operands:
                self._mark(function, operands[0])
            if op in STATE_WRITES and operands:
                self.states.add(op_of(operands[0]))
            if any(n.op == "get_attr" for n in operands) and op == "python":
                self.states.update(op_of(n) for n in operands if n.op == "get_attr")
        elif "index_valued" in tags:
            self.sources.add(op)
            self._mark_indices(function, node, type_of(node))

    def _cuts(self, function: Function, node: fx.Node, tags: frozenset[str]) -> bool:
        """Whether floats become integers, or rounded floats truth values or counts of such."""
        integer = _rounds_to_integer(node)
        if integer and "exact" not in tags:
            return True
        return (integer or _decides(node)) and any(self._is_rounded(function, n) for n in node.all_input_nodes)

    def _is_rounded(self, function: Function, node: fx.Node) -> bool:
        return bool({(function.name, node.name), (function.name, root_of(node))} & self.rounded)

    def _round(self, function: Function, node: fx.Node, tags: frozenset[str]) -> None:
        """Take note of a result that is a float which some operator rounded."""
        kind = type_of(node)
        view = bool(tags & {"view"}) or op_of(node) == "getitem"
        if view and any(_is_exact(type_of(n)) != _is_exact(kind) for n in node.all_input_nodes[:1]):
            self.bits.add((function.name, root_of(node)))
        if _is_exact(kind):
            return
        if not view:
            self.made.add((function.name, root_of(node)))
        exact = bool(tags & {"exact", "view"}) or op_of(node) == "getitem"
        if not exact or any(self._is_rounded(function, n) for n in node.all_input_nodes):
            self.rounded |= {(function.name, node.name), (function.name, root_of(node))}

    def _item_only(self, function: Function, node: fx.Node) -> bool:
        """An item of a sequence that is tainted in some items only."""
        sequence, index = node.args[0], node.args[1]
        if not isinstance(sequence, fx.Node) or not isinstance(index, int):
            return False
        key = (function.name, sequence.name)
        if key not in self.items or key in self.values:
            return False
        kind = type_of(sequence)
        count = len(kind.items) if isinstance(kind, SequenceType) else 0
        if index % max(count, 1) in self.items[key]:
            self._mark(function, node)
        return True

    def _mark_indices(self, function: Function, node: fx.Node, kind: Type) -> None:
        if isinstance(kind, TensorType | UnsizedType):
            if kind.info.kind == "int":
                self._mark(function, node)
        elif isinstance(kind, SequenceType):
            found = {i for i, t in enumerate(kind.items) if isinstance(t, TensorType) and t.info.kind == "int"}
            self.items.setdefault((function.name, node.name), set()).update(found)

    def _mark(self, function: Function, node: fx.Node) -> None:
        self.values.add((function.name, node.name))
        # Fresh items of one sequence have the sequence's name as root, but storages of their own.
        if isinstance(type_of(node), TensorType | UnsizedType) and (function.name, root_of(node)) not in self.items:
            self.roots.add((function.name, root_of(node)))

    def _is(self, function: Function, node: fx.Node) -> bool:
        if node.op == "get_attr" and op_of(node) in self.states | self.inputs:
            return True
        key = (function.name, node.name)
        if key in self.values or self.items.get(key):
            return True
        kind, root = type_of(node), (function.name, root_of(node))
        if not isinstance(kind, TensorType | UnsizedType):
            return False
        return root in self.roots or (_is_exact(kind) and self._computed(root))

    def _computed(self, root: tuple[str, str]) -> bool:
        """Whether integers of a storage are bits of computed floats."""
        return root in self.bits and root in self.made

    def _inner_call(self, function: Function, node: fx.Node) -> bool:
        """`call(f, ...)`: operands flow into f's parameters, what f returns flows back."""
        called = node.args[0]
        layer = layer_of(self.program, function.name, called)
        if layer is not None:
            if layer.draws:
                self.sources.add("call")
            return layer.draws
        try:
            callee = self.program.function(op_of(called) if isinstance(called, fx.Node) else str(called))
        except KeyError:  # a callable that a capture or a parameter holds: opaque
            return False
        for param, arg in zip(callee.params, node.args[1:]):
            if isinstance(arg, fx.Node):
                if self._is(function, arg):
                    self._mark(callee, param)
                if (callee.name, root_of(param)) in self.roots:
                    self._mark(function, arg)
        return callee.name in self.results

    def _operator_calls(self, function: Function, node: fx.Node, dirty: bool) -> bool:
        """An operator that calls functions, on what is known to it alone: any operand may flow into any parameter."""
        found = False
        rounded = any(self._is_rounded(function, n) for n in node.all_input_nodes)
        for name in functions_in((node.args, dict(node.kwargs))):
            callee = self.program.function(name)
            for param in callee.params:
                if dirty:
                    self._mark(callee, param)
                if rounded and not _is_exact(type_of(param)):
                    self.rounded |= {(callee.name, param.name), (callee.name, root_of(param))}
            found = found or callee.name in self.results
        return found

    def _call(self, call: Call) -> None:
        """A call of the script: inputs and results of other calls flow in, and what the function wrote to flows out."""
        function = self.program.function(call.function)
        producers = {c.result: self.program.function(c.function) for c in self.program.calls if c.result}
        for param, arg in zip(function.params, call.args):
            if not isinstance(arg, Ref):
                continue
            if arg.name in producers:
                self._passed(producers[arg.name], function, param)
                continue
            spec = find_spec(self.program, arg.name)
            if spec is None:  # Python state
                continue
            family = spec.view_of or spec.name
            if self._input_tainted(family):
                self._mark(function, param)
            if self._is(function, param):
                self.inputs.add(family)
                self.inputs |= {s.name for s in self.program.inputs if s.view_of == family}

    def _passed(self, producer: Function, function: Function, param: fx.Node) -> None:
        """What one function returned is an operand of another, which may write to it."""
        returned = nodes_in(producer.result)
        if any(self._is(producer, n) for n in returned):
            self._mark(function, param)
        if self._is(function, param):
            for node in returned:
                self._mark(producer, node)

    def _input_tainted(self, family: str) -> bool:
        return family in self.inputs

    def _paths(self, function: Function) -> list[Path]:
        """Where a result is tainted, as positions in its structure."""
        found: list[Path] = []
        for path, node in _leaves(function.result):
            partial = self.items.get((function.name, node.name))
            if partial and (function.name, node.name) not in self.values:
                found += [(*path, i) for i in sorted(partial)]
            elif self._is(function, node):
                found.append(path)
        return found

    def _exact_paths(self, function: Function) -> list[Path]:
        """Where a result holds a tensor that nothing rounded or tainted."""
        return [path for path, node in _leaves(function.result) if isinstance(type_of(node), TensorType)
                and not self._is_rounded(function, node) and not self._is(function, node)]  # fmt: skip

    def _rounds_what_stays(self) -> bool:
        """Whether a function rounds what it is given, so that a later call starts from rounded values."""
        return any((f.name, n.name) in self.rounded for f in self.program.functions for n in f.graph.nodes
                   if n.op in ("placeholder", "get_attr"))  # fmt: skip
