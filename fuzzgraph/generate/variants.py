"""Variants of a program for the oracles that compare it with others: a changed second call, exact rewrites.

`Variants(book, infer, generator)(oracle, program)` is a function of the program alone: what is random in it is drawn
from the content hash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import torch.fx as fx

from ..grammar.model import AttributeSpec
from ..grammar.rule import RuleBook
from ..ir.builder import Builder, Rejected
from ..ir.hash import content_hash
from ..ir.program import Call, Context, InputSpec, Program, Ref, type_of
from ..ir.types import ScalarType, TensorType, contiguous_strides
from ..ir.typing import find_spec
from ..oracles import equivalence, guard
from ..oracles._variants import Variant
from .generator import Generator
from .hazards import hazard
from .inputs import DTYPE_WEIGHTS, draw_dtype, view_into, with_dtype
from .layout import SIZES, draw_layout
from .profile import pick
from .rewrites import Rewriter
from .script import copied, grown_index, resized

# Changed calls of one program, and attempts at each kind of them.
CALLS = 2
TRIES = 2
# Elements of one tensor of a changed call: larger ones only cost time.
MAX_ELEMENTS = 1 << 16
# How likely a kind of change is to be among the first that are tried.
WEIGHTS = {"other size": 3.0, "edge size": 3.0, "one size": 2.0, "dtype": 2.0, "layout": 2.0, "scalar": 2.0}
# Changes of sizes.
RESIZING = frozenset({"other size", "edge size", "one size"})
NEW_SCALARS: Mapping[type, tuple[Any, ...]] = {int: (0, 1, 2, 3, 7, -1), float: (0.5, 2.0, -1.5, 0.0, 1.0, 3.0)}


class Variants:
    """Implements `oracles._variants.Variants`."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        self.book, self.infer = generator.book, generator.infer
        self._rewriter = Rewriter(self.book, self.infer)

    def __call__(self, oracle: str, program: Program) -> Sequence[Variant]:
        rng = Random(f"{oracle} {content_hash(program)}")
        if oracle == "guard":
            return self._changed_calls(program, rng)
        found = self._rewriter.rewrite(program, rng) if oracle == "equivalence" else None
        return [] if found is None else [found]

    def program_of(self, program: Program, key: str) -> Program:
        """The program that a failure with this `variant` is a failure of; the program itself for an unknown one."""
        for oracle in ("guard", "equivalence"):
            for variant in self(oracle, program):
                if variant.key == key:
                    return variant.program
        return equivalence.with_setting(program, key)

    def _changed_calls(self, program: Program, rng: Random) -> list[Variant]:
        found: list[Variant] = []
        # By weight without replacement.
        kinds = sorted(CHANGES, key=lambda kind: rng.random() ** (1 / WEIGHTS.get(kind, 1.0)), reverse=True)
        for kind in kinds:
            if len(found) < 2 * CALLS and program.calls:
                found += self._changed_call(program, kind, rng)
        return found

    def _changed_call(self, program: Program, kind: str, rng: Random) -> list[Variant]:
        """The program that makes its first call and then a changed one, and the one that makes the latter alone.

        Where sizes become symbols by the second call only, a third one is made, on still other sizes.
        """
        for _ in range(TRIES):
            b = Builder(self.infer, self.book.check, base=program)
            b.calls = [b.calls[0]]
            try:
                call = CHANGES[kind](self.book, b, b.calls[0], rng)
                first, changed = b.calls[0], [call]
                if kind in RESIZING and program.options.dynamic is None:
                    changed.append(CHANGES[kind](self.book, b, first, rng))
                    self._program(b, changed[1:])  # a program is held against its first call only
                alone, both = self._program(b, changed), self._program(b, [first, *changed])
            except Rejected:
                continue
            return [Variant(kind, both), Variant(kind + guard.ALONE, alone)]
        return []

    def _program(self, b: Builder, calls: list[Call]) -> Program:
        """The program of a builder with other calls, and no inputs that they do not use. Raises Rejected."""
        named = {a.name for call in calls for a in call.args if isinstance(a, Ref)}
        named |= {s.view_of for s in b.inputs if s.name in named and s.view_of}
        inputs = tuple(s for s in b.inputs if s.name in named)
        functions = tuple(f.finish() for f in b.functions.values())
        base = Program(
            inputs, tuple(b.constants), tuple(b.states), functions, tuple(b.closures), tuple(calls), b.options
        )
        trial = Builder(self.infer, self.book.check, base=base)
        if not self.generator.fits(trial):
            raise Rejected("the changed call does not fit")
        reason = hazard(self.book, self.generator.adapters, trial)
        if reason is not None:
            raise Rejected(reason)
        large = (n for f in trial.functions.values() for n in f.nodes if _elements(n) > MAX_ELEMENTS)
        if any(True for _ in large):
            raise Rejected("too many elements")
        return trial.build()


def _elements(node: fx.Node) -> int:
    kind = type_of(node)
    return kind.numel if isinstance(kind, TensorType) else 0


# --- changes: each adds the inputs of a changed call to the builder and returns that call, or raises Rejected


def _specs(b: Builder, call: Call, free: bool = True) -> list[InputSpec]:
    """Inputs of the call; with `free`, those that are no views and no bases of views. Raises Rejected without any."""
    named = [find_spec(b, a.name) for a in call.args if isinstance(a, Ref)]
    bases = {s.view_of for s in b.inputs}
    found = [s for s in dict.fromkeys(named) if s in b.inputs and not (free and (s.view_of or s.name in bases))]
    if not found:
        raise Rejected("no input to change")
    return found


def _sizes(b: Builder, call: Call, rng: Random, new: int | None = None, everywhere: bool = True) -> Call:
    specs = _specs(b, call)
    if len(specs) < len(_specs(b, call, free=False)):
        raise Rejected("inputs share storage")
    sizes = sorted({n for s in specs for n in s.type.shape if n != new})
    if not sizes:
        raise Rejected("no size to change")
    old = rng.choice(sizes)
    if new is None:
        new = pick([(n, w) for n, w in SIZES if n not in (old, 0, 1)], rng)
    if not everywhere:
        specs = [rng.choice([s for s in specs if old in s.type.shape])]
    return copied(b, call, {s.name: grown_index(resized(s, old, new), old, new) for s in specs}, rng)


def _other_size(book: RuleBook, b: Builder, call: Call, rng: Random) -> Call:
    """Another size, in all inputs that have it."""
    return _sizes(b, call, rng)


def _edge_size(book: RuleBook, b: Builder, call: Call, rng: Random) -> Call:
    """A size becomes 0 or 1."""
    return _sizes(b, call, rng, rng.choice((0, 1)), everywhere=rng.random() < 0.7)


def _one_size(book: RuleBook, b: Builder, call: Call, rng: Random) -> Call:
    """One dim of one input is of another size, those that were of equal size are not."""
    spec = rng.choice(_specs(b, call))
    if not spec.type.shape:
        raise Rejected("no dim")
    dim = rng.randrange(spec.type.rank)
    new = pick([(n, w) for n, w in SIZES if n != spec.type.shape[dim]], rng)
    shape = tuple(new if d == dim else n for d, n in enumerate(spec.type.shape))
    stride, offset = draw_layout(shape, rng, overlap=False) if rng.random() < 0.3 else (contiguous_strides(shape), 0)
    kind = spec.type.with_(shape=shape, stride=stride, offset=offset)
    return copied(b, call, {spec.name: replace(spec, type=kind, storage=None, dynamic=())}, rng)


def _dtype(book: RuleBook, b: Builder, call: Call, rng: Random) -> Call:
    """Another dtype, in all inputs of that dtype or in one."""
    specs = _specs(b, call)
    spec = rng.choice(specs)
    dtype = draw_dtype(DTYPE_WEIGHTS.keys() - {spec.type.dtype}, rng)
    alike = [s for s in specs if s.type.dtype == spec.type.dtype] if rng.random() < 0.6 else [spec]
    return copied(b, call, {s.name: with_dtype(s, dtype, rng) for s in alike}, rng)


def _layout(book: RuleBook, b: Builder, call: Call, rng: Random) -> Call:
    """Other strides and another offset."""
    spec = rng.choice(_specs(b, call))
    kind = spec.type
    plain = not kind.is_contiguous or kind.offset > 0
    stride, offset = draw_layout(kind.shape, rng, overlap=rng.random() < 0.5, plain=plain)
    if (stride, offset) == (kind.stride, kind.offset):
        raise Rejected("the same layout")
    changed = replace(spec, type=kind.with_(stride=stride, offset=offset), storage=None)
    return copied(b, call, {spec.name: changed}, rng)


def _shared(book: RuleBook, b: Builder, call: Call, rng: Random) -> Call:
    """Two inputs that had memory of their own share it."""
    specs = _specs(b, call)
    pairs = [(s, t) for i, s in enumerate(specs) for t in specs[i + 1 :] if s.type.dtype == t.type.dtype]
    pairs = [(s, t) for s, t in pairs if not s.type.requires_grad and not t.type.requires_grad]
    if not pairs:
        raise Rejected("no two inputs of one dtype")
    base, spec = rng.choice(sorted(pairs, key=lambda p: (b.inputs.index(p[0]), b.inputs.index(p[1]))))
    if b.inputs.index(base) > b.inputs.index(spec):
        base, spec = spec, base
    kind = view_into(base, spec.type.shape, rng)
    if kind is None:
        raise Rejected("no room for a view")
    return copied(b, call, {spec.name: replace(spec, type=kind, storage=None, view_of=base.name)}, rng)


def _scalar(book: RuleBook, b: Builder, call: Call, rng: Random) -> Call:
    """A literal operand becomes a parameter, which the changed call gives another value."""
    f = b.functions.get(call.function)
    if f is None or len(b.functions) > 1 or b.closures:
        raise Rejected("not the only function")
    places: list[tuple[fx.Node, Any, Any]] = []
    for n in f.body:
        places += [(n, key, v) for key, v in (*enumerate(n.args), *n.kwargs.items()) if _literal(book, n, key, v)]
    if not places:
        raise Rejected("no scalar")
    node, key, old = rng.choice(places)
    new = rng.choice([v for v in NEW_SCALARS[type(old)] if v != old])
    op, before = str(node.meta["op"]), type_of(node)
    for value in (new, f.add_placeholder(b.fresh_name("s"), ScalarType(type(old).__name__))):  # type: ignore[arg-type]
        args, kwargs = list(node.args), dict(node.kwargs)
        if isinstance(key, int):
            args[key] = value
        else:
            kwargs[key] = value
        f.set_call(node, op, tuple(args), kwargs)
        if type_of(node) != before:
            raise Rejected("the scalar decides a type")
    b.calls[0] = replace(call, args=(*call.args, old))
    return copied(b, replace(call, args=(*call.args, new)), {}, rng)


def _literal(book: RuleBook, node: fx.Node, key: Any, value: Any) -> bool:
    """Whether an argument is a number that its rule takes as one whose value is not known."""
    rule = book.rules.get(str(node.meta["op"]))
    if rule is None or type(value) not in NEW_SCALARS:
        return False
    param = rule.params[key] if isinstance(key, int) and key < len(rule.params) else rule.param.get(str(key))
    return param is not None and any(isinstance(s, AttributeSpec) for s in param.specs)


def _grad_mode(book: RuleBook, b: Builder, call: Call, rng: Random) -> Call:
    """Grad mode flips, either way round; or inputs require grad where none did."""
    specs = _specs(b, call, free=False)
    if any(s.type.requires_grad for s in specs):
        contexts: list[tuple[Context, ...]] = [(), (Context("no_grad"),)]
        if call.contexts != (Context("no_grad"),) and rng.random() < 0.5:
            contexts.reverse()
        b.calls[0] = replace(call, contexts=contexts[1] if call.contexts else contexts[0])
        return copied(b, replace(call, contexts=contexts[0] if call.contexts else contexts[1]), {}, rng)
    specs = [s for s in _specs(b, call) if s.type.info.kind in ("float", "complex")]
    if not specs or b.options.inference:
        raise Rejected("no input that can require grad")
    chosen = [s for s in specs if rng.random() < 0.7] or specs
    changed = {s.name: replace(s, type=s.type.with_(requires_grad=True)) for s in chosen}
    return copied(b, call, changed, rng)


def _context(book: RuleBook, b: Builder, call: Call, rng: Random) -> Call:
    """The call is made under autocast or in inference mode."""
    if rng.random() < 0.5 and not b.options.grad and not b.options.inference:
        return copied(b, replace(call, contexts=(Context("inference_mode"),)), {}, rng)
    if b.options.autocast:
        raise Rejected("autocast already")
    return copied(b, replace(call, contexts=(Context("autocast", ("bf16",)),)), {}, rng)


CHANGES: Mapping[str, Callable[[RuleBook, Builder, Call, Random], Call]] = {
    "other size": _other_size, "edge size": _edge_size, "one size": _one_size, "dtype": _dtype, "layout": _layout,
    "shared storage": _shared, "scalar": _scalar, "grad mode": _grad_mode, "context": _context,
}  # fmt: skip
