"""Planting: an instance of one of the compiler's patterns in a function under construction."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import torch.fx as fx

from ..grammar.completing import complete
from ..grammar.model import Param, TensorSpec
from ..grammar.patterns import GETITEM, Counterpart, Each, Made, Pattern, PatternNode, Wild, counterpart
from ..grammar.rule import RuleBook
from ..grammar.wants import ShapeWant, Want
from ..ir.builder import Builder, FunctionBuilder, Rejected
from ..ir.program import Call, Program, Ref, rooted_types_in, type_of
from ..ir.types import SequenceType, TensorType
from .generator import Generator
from .options import NEEDS_NO_GRAD, require
from .pool import ProgramSource

# Attempts before a pattern is given up. The first have operands of several sizes and values of the program, which may
# not go together; the last have one size only, with which nearly all does.
TRIES = 10
MIXED_TRIES = 5
SIZES = (2, 3, 4, 5, 8, 16, 17)
RANKS = (2, 2, 2, 3, 4, 1)
# Most patterns are looked for in any float.
THEMES = ("f32", "f32", "f32", "bf16", "f16", "f64", "i64", "i32")
EACH = (2, 2, 3)
# A 0-d input of a pattern is mostly a scale, which passes want as a number.
NUMBERS = (0.5, 2.0, 0.125, 8.0)
NUMBER_SHARE = 0.5
FRESH_SHARE = 0.6

# An argument, and its type where it is an operand.
Given = tuple[Any, Any]


class LeafSource(ProgramSource):
    """Operands for the wildcards of a pattern: values that were there before it, or new inputs of `sizes` and `rank`.
    The pattern's own nodes get no users that it does not have."""

    sizes: tuple[int, ...] = SIZES
    rank = 2
    only_fresh = False

    def values(self) -> list[fx.Node]:
        return [n for n in super().values() if n in self._nodes_before or n.op != "call_function"]

    def _wants_fresh(self, rng: Random) -> bool:
        return self.only_fresh or rng.random() < FRESH_SHARE

    def _shape(self, want: Want, rng: Random) -> tuple[int, ...]:
        shape = want.shape
        middle: tuple[int | None, ...] = ()
        if shape.broadcast is not None:
            middle = shape.broadcast
        elif shape.ranks is not None:
            low, high = shape.ranks
            middle = (None,) * min(max(self.rank - len(shape.head) - len(shape.tail), low), high)
        return tuple(rng.choice(self.sizes) if n is None else n for n in (*shape.head, *middle, *shape.tail))


@dataclass
class Planted:
    """`nodes`: the calls, oldest first; `results`: what the function must return for the pattern to be there."""

    nodes: list[fx.Node] = field(default_factory=list)
    results: list[fx.Node] = field(default_factory=list)

    def edges(self) -> list[tuple[fx.Node, fx.Node]]:
        """Uses (user, operand) of tensors inside the pattern; where it is one call, those of its operands."""
        uses = [(n, o) for n in self.nodes for o in n.all_input_nodes if isinstance(type_of(o), TensorType)]
        return [(n, o) for n, o in uses if o in self.nodes] or uses


def plant(pattern: Pattern, book: RuleBook, f: FunctionBuilder, source: LeafSource, rng: Random) -> Planted:
    """The pattern's calls at the end of the function, on operands of the source. Raises Rejected with the reason of the
    last attempt, and leaves the function as it was."""
    reason = Rejected("no attempt")
    for number in range(TRIES):
        mixed = number < MIXED_TRIES
        source.sizes = tuple(rng.sample(SIZES, 2 if mixed else 1))
        source.rank, source.theme, source.only_fresh = rng.choice(RANKS), rng.choice(THEMES), not mixed
        source.begin()
        try:
            planted = _Attempt(pattern, book, f, source, rng).run()
        except Rejected as error:
            reason = error
            source.settle()
            continue
        source.settle((planted.nodes, planted.results))
        return planted
    raise reason


def switch_on(b: Builder, pattern: Pattern) -> None:
    """Add the config patches without which the pattern's pass is off. Raises Rejected where they take no gradients."""
    if b.options.grad and any(key in NEEDS_NO_GRAD for key, _ in pattern.needs):
        raise Rejected("the pattern's pass takes no gradients")
    require(b, dict(pattern.needs))


def alone(pattern: Pattern, generator: Generator, rng: Random, grad: bool = False) -> Program:
    """A program that holds the pattern and nothing else, with its pass on. Raises Rejected."""
    b = Builder(generator.infer, generator.book.check)
    b.set_options(grad=grad)
    switch_on(b, pattern)
    f = b.function("f")
    source = LeafSource(generator.book, b, f, generator.profile, generator.adapters, grad=grad)
    f.returns(tuple(plant(pattern, generator.book, f, source, rng).results))
    b.add_call(Call("f", tuple(Ref(n.name) for n in f.placeholders)))
    return b.build()


class _Attempt:
    """One attempt: makes each node after those that it uses. `names` are the arguments that wildcards stand for."""

    def __init__(
        self, pattern: Pattern, book: RuleBook, f: FunctionBuilder, source: LeafSource, rng: Random
    ) -> None:
        self.pattern, self.book, self.f, self.source, self.rng = pattern, book, f, source, rng
        self.names: dict[str, Given] = {}
        self.planted = Planted()

    def run(self) -> Planted:
        memo: dict[int, Any] = {}
        outputs = [self._node(index, memo) for index in self.pattern.outputs]
        results = [tensor for node in outputs for tensor in self._tensors(node)]
        for index, node in memo.items():
            users = self.pattern.nodes[index].users
            if users is not None and node not in outputs and len(node.users) < users:
                results += self._tensors(node)
        self.planted.results = list(dict.fromkeys(results))
        return self.planted

    def _tensors(self, node: fx.Node) -> list[fx.Node]:
        kind = type_of(node)
        if isinstance(kind, SequenceType):
            return [self.f.op("getitem", (node, i)) for i in range(len(kind.items))]
        return [node]

    def _node(self, index: int, memo: dict[int, Any]) -> Any:
        """The node of that index, made when it is first asked for; a number where that stands for an input."""
        if index not in memo:
            memo[index] = self._make(self.pattern.nodes[index], memo)
        return memo[index]

    def _make(self, node: PatternNode, memo: dict[int, Any]) -> Any:
        if node.type is not None:
            if not node.type.shape and node.type.info.kind == "float" and self.rng.random() < NUMBER_SHARE:
                return self.rng.choice(NUMBERS)
            return self._leaf(frozenset({node.type.dtype}), ShapeWant(head=node.type.shape))
        made = self._item(node, memo) if GETITEM in node.ops else self._call(node, memo)
        self.planted.nodes.append(made)
        return made

    def _leaf(self, dtypes: frozenset[str], shape: ShapeWant) -> fx.Node:
        found = self.source.tensor(Want(dtypes, shape), self.rng)
        if found is None:
            raise Rejected("no operand")
        return found[0]

    def _item(self, node: PatternNode, memo: dict[int, Any]) -> fx.Node:
        """An item of a tuple; where the pattern does not say which, the next."""
        sequence, index = node.args or (Wild(), Wild())
        given = self._given(sequence, memo)
        kind = type_of(given[0]) if given is not None and isinstance(given[0], fx.Node) else None
        if given is None or not isinstance(kind, SequenceType) or not kind.items:
            raise Rejected("no tuple to take an item from")
        if isinstance(index, Wild):
            index = len(given[0].users) % len(kind.items)
        return self.f.op("getitem", (given[0], index))

    def _call(self, node: PatternNode, memo: dict[int, Any]) -> fx.Node:
        usable = [c for c in (counterpart(op, self.book) for op in node.ops) if c is not None]
        if not usable:
            raise Rejected(f"no rule stands for {node.ops[0]}")
        chosen = self.rng.choice(usable)
        given, wild = self._arguments(node, chosen, memo)
        # Where the pattern leaves all open, so does the call.
        free = wild if node.args is not None else {p.name: "" for p in chosen.rule.params if p.name != "out"}
        found = complete(chosen.rule, given, free, self.source, self.rng)
        if found is None:
            raise Rejected(f"{chosen.rule.op} takes no such arguments")
        draft, drawn = found
        self.names.update({name: drawn[param] for param, name in wild.items() if name and param in drawn})
        return self.f.op(draft.op, draft.args, dict(draft.kwargs), spelling=draft.spelling)

    def _arguments(
        self, node: PatternNode, chosen: Counterpart, memo: dict[int, Any]
    ) -> tuple[dict[str, Given], dict[str, str]]:
        """The arguments that are known, by the rule's parameters, and the names of the wildcards of others."""
        given: dict[str, Given] = {}
        wild: dict[str, str] = {}
        for param, argument in _bound(node, chosen):
            found = self._given(argument, memo)
            if found is None:
                wild[param] = argument.name if isinstance(argument, Wild) else ""
            elif found[0] is not None or not chosen.rule.param[param].optional:
                index = isinstance(argument, list) and not _lists(chosen.rule.param[param])
                given[param] = _as_index(found) if index else found
        return given, wild

    def _given(self, argument: Any, memo: dict[int, Any]) -> Given | None:
        """An argument and its type; None for one that is still open."""
        if isinstance(argument, Wild):
            return self.names.get(argument.name)
        if isinstance(argument, Made):
            made = self._node(argument.node, memo)
            return made, rooted_types_in(made)
        if isinstance(argument, Each):
            items = [self._given(argument.item, self._copied(memo)) for _ in range(self.rng.choice(EACH))]
        elif isinstance(argument, list):
            items = [self._given(item, memo) for item in argument]
        else:
            return argument, argument
        known = [item for item in items if item is not None]
        if len(known) < len(items):
            return None
        return [operand for operand, _ in known], [kind for _, kind in known]

    def _copied(self, memo: dict[int, Any]) -> dict[int, Any]:
        """What the items of a list share: nodes that have several users."""
        return _Shared(memo, {i for i, n in enumerate(self.pattern.nodes) if n.users != 1 and GETITEM not in n.ops})


def _lists(param: Param) -> bool:
    """Whether a parameter takes a list of tensors."""
    return any(isinstance(spec, TensorSpec) and spec.count is not None for spec in param.specs)


def _as_index(given: Given) -> Given:
    """Operands in an index are a tuple: a list would be one operand."""
    operand, kind = given
    return (tuple(operand), tuple(kind)) if any(isinstance(o, fx.Node) for o in operand) else given


class _Shared(dict[int, Any]):
    """The nodes of one item of a list; those that are shared belong to the whole."""

    def __init__(self, whole: dict[int, Any], shared: set[int]) -> None:
        super().__init__({i: n for i, n in whole.items() if i in shared})
        self.whole, self.shared = whole, shared

    def __setitem__(self, index: int, node: Any) -> None:
        super().__setitem__(index, node)
        if index in self.shared:
            self.whole[index] = node


def _bound(node: PatternNode, chosen: Counterpart) -> list[tuple[str, Any]]:
    """Parameters of the rule with the pattern's arguments for them; what the rule does not know is left out."""
    if node.args is None or chosen.take == 0:
        return []
    rule = chosen.rule
    names = [p.name for p in rule.params if not p.keyword_only]
    args = list(node.args[: chosen.take])
    extra = args[len(names) - 1 :]
    if len(extra) > 1 and not any(isinstance(a, Wild | Made | Each | list) for a in extra):
        # permute(0, 2, 1) is permute((0, 2, 1)).
        args[len(names) - 1 :] = [extra]
    pairs = list(zip(names, args, strict=False))
    if chosen.take is None:
        pairs += [(k, v) for k, v in node.kwargs.items() if k in rule.param and k not in dict(pairs)]
    return pairs
