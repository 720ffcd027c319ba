"""ProgramSource: operands for the grammar, from a program under construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import torch.fx as fx
from torch.fx.node import map_arg

from ..grammar.model import Frame
from ..grammar.rule import RuleBook
from ..grammar.source import Inside
from ..grammar.wants import ShapeWant, Want
from ..ir.builder import Builder, FunctionBuilder, Rejected
from ..ir.program import InputSpec, root_of, type_of
from ..ir.types import DTYPES, TensorType, Type, tensor
from .adapt import Adapters
from .domains import Knowledge, drawn_from
from .fit import Fitter
from .hazards import flow_at
from .inputs import draw_dtype, draw_type, draw_values, view_into
from .layout import draw_shape
from .profile import Profile, pick

# Draws of a fresh operand before its want is given up.
DRAWS = 16
# Existing values that are tried to be adapted before a fresh one is made.
ADAPT_TRIES = 3
TWICE_SHARE = 0.15
# Of the operands that can have the program's theme.
THEME_SHARE = 0.9
# Of the fresh operands of a fused program, those that have a shape that is there.
FUSED_SHAPES = 0.9
GRAD_SHARE = 0.75
# Operators in a function that an operator calls, and tensors that it returns if it may return any.
NESTED_OPERATORS = ((1, 4), (2, 4), (3, 2), (5, 1))
NESTED_RESULTS = 3
DYNAMIC_SHARE = 0.06


class ProgramSource:
    """The grammar's OperandSource over one function of a builder.

    Operands are nodes. It prefers values that exist, adapts some that do not fit, and else makes a fresh input, a
    module constant or a constant in the graph. With `before`, only values made before that node are used, and what is
    added stands before it. With `prefer`, that value is the first operand (or with `prefer_written` the one that is
    written). `settle` takes back what an attempt added in vain.
    """

    def __init__(
        self, book: RuleBook, b: Builder, f: FunctionBuilder, profile: Profile, adapters: Adapters | None = None,
        grad: bool = False, before: fx.Node | None = None, fresh_inputs: bool = True, prefer: fx.Node | None = None,
    ) -> None:  # fmt: skip
        self.b, self.f, self.profile = b, f, profile
        self.adapters = adapters or Adapters(book)
        self.know = Knowledge(book, self.adapters, b, f)
        self.fitter = Fitter(self.adapters, self.know, f, self._may_write)
        self.grad, self.before, self.fresh_inputs, self.prefer = grad, before, fresh_inputs, prefer
        self.prefer_written = False
        self.theme: str | None = None  # a dtype that most operands are to have
        self.fused = False  # whether most operands are to have one shape
        self._taken: set[fx.Node] = set()
        self._nodes_before: set[fx.Node] = set(f.nodes)
        self._inputs_before = len(b.inputs), len(b.constants)
        self._functions_before = set(b.functions)
        # Adds a call to a function that an operator is to call; without it there are no such functions.
        self.grow: Callable[[ProgramSource, Random], fx.Node | None] | None = None

    # --- attempts

    def begin(self) -> None:
        """Start an attempt: what is there now stays."""
        self._nodes_before = set(self.f.nodes)
        self._inputs_before = len(self.b.inputs), len(self.b.constants)
        self._functions_before = set(self.b.functions)
        self._taken.clear()

    def settle(self, used: Any = ()) -> None:
        """End an attempt: erase what was added since `begin` and is not needed for the nodes in `used`."""
        needed: set[fx.Node] = set()
        map_arg(used, needed.add)
        bases = {s.view_of for s in self.b.inputs}
        for node in reversed(self.f.nodes):
            if node not in self._nodes_before | needed and node.name not in bases and not node.users:
                self.f.erase(node)
        names = set(self.f.names)
        for group, start in zip((self.b.inputs, self.b.constants), self._inputs_before, strict=True):
            group[start:] = [s for s in group[start:] if s.name in names or any(o.view_of == s.name for o in group)]
        for name in set(self.b.functions) - self._functions_before - names:
            del self.b.functions[name]

    # --- the interface to the grammar

    def tensor(self, want: Want, rng: Random) -> tuple[fx.Node, TensorType] | None:
        """An operand for a want, with its type; None where none exists and none can be made."""
        if not want.dtypes:
            return None
        node = None
        if self._asks_preferred(want):
            assert self.prefer is not None
            fits = self._fits(want, self.prefer)
            node = self.prefer if fits else self.fitter.fit(self.prefer, want, rng, self.before)
        elif not self._wants_fresh(rng):
            node = self._existing(want, rng) or self._adapted(want, rng)
        if node is None:
            node = self._fresh(want, rng) or self._existing(want, rng) or self._adapted(want, rng)
        if node is None:
            return None
        self._taken.add(node)
        return node, type_of(node)  # type: ignore[return-value]

    def function(self, frame: Frame, rng: Random) -> fx.Node | None:
        """A small function of the program, as an operand."""
        if self.grow is None:
            return None
        f = self.b.function(self.b.fresh_name("g"), [(self.b.fresh_name("p"), t) for t in frame.params])
        source = ProgramSource(self.know.book, self.b, f, self.profile, self.adapters, fresh_inputs=False)
        source.theme = self.theme
        for _ in range(pick(NESTED_OPERATORS, rng)):
            self.grow(source, rng)
        inside = Inside(self.b, f)
        wanted = frame.results
        if wanted is None:
            made = tuple(type_of(n) for n in f.body if not n.users)
            wanted = _dense(made)[:NESTED_RESULTS] or _dense(frame.params[:1])
        results: list[fx.Node] = []
        for kind in wanted:
            node = source.owned(kind, rng)
            if node is None or root_of(node) in map(root_of, results):
                node = frame.plain(inside, kind)
            results.append(node)
        try:
            f.returns(frame.finish(inside, f.placeholders, results))
        except Rejected:
            del self.b.functions[f.name]
            return None
        f.prune()
        return self.f.read(f.name)

    def owned(self, kind: TensorType, rng: Random) -> fx.Node | None:
        """A value of exactly this type, in memory of its own, computed here if possible; None where there is none."""
        grown = [n for n in self.f.body if isinstance(type_of(n), TensorType)]
        self.prefer = rng.choice(grown) if grown else None
        self._taken.clear()
        want = Want(frozenset({kind.dtype}), ShapeWant(head=kind.shape))
        found = self.tensor(want, rng)
        if found is None:
            return None
        node = found[0]
        if root_of(node) != node.name or node.op != "call_function" or type_of(node).stride != kind.stride:  # type: ignore[union-attr]
            copied = self.adapters.apply("copy", self.f, rng, None, x=node)
            node = node if copied is None else copied
        made = type_of(node)
        owned = node.op == "call_function" and root_of(node) == node.name
        same = isinstance(made, TensorType) and (made.stride, made.offset) == (kind.stride, kind.offset)
        return node if owned and same else None

    def _asks_preferred(self, want: Want) -> bool:
        """Whether this operand is the one to be `prefer`: the first, or the first that is written."""
        if self.prefer is None:
            return False
        return want.mutable if self.prefer_written else not self._taken

    def values(self) -> list[fx.Node]:
        """The tensors that may be used here, oldest first."""
        found = []
        for node in self.f.nodes:
            if node is self.before:
                break
            if isinstance(type_of(node), TensorType):
                found.append(node)
        return found

    def _wants_fresh(self, rng: Random) -> bool:
        """Rarely for the first operand of a call, so that programs hang together; less, the more inputs there are."""
        count = len(self.b.inputs)
        share = self.profile.fresh if self._taken else self.profile.apart
        return rng.random() < (1.0 if count == 0 else share / max(count - 1, 1))

    # --- values that exist

    def _existing(self, want: Want, rng: Random) -> fx.Node | None:
        fitting = [n for n in self.values() if self._fits(want, n)]
        # One value as two operands of a call is worth a test now and then.
        if rng.random() >= TWICE_SHARE:
            fitting = [n for n in fitting if n not in self._taken]
        return self._prefer(fitting, rng, want.mutable) if fitting else None

    def _fits(self, want: Want, node: fx.Node) -> bool:
        kind = type_of(node)
        assert isinstance(kind, TensorType)
        if want.mutable and not self._may_write(node):
            return False
        return want.problem(kind.with_(alias=root_of(node))) is None and (
            want.values is None or self.know.holds(want.values, node)
        )

    def _may_write(self, node: fx.Node) -> bool:
        """Module constants outlive the program's calls, so that nothing writes them; what backward needs stays."""
        root = self.f.names & {root_of(node)}
        if root and self.f.node(root_of(node)).op == "get_attr":
            return False
        return flow_at(self.know.book, self.adapters, self.f, self.before).may_write(node)

    def _prefer(self, nodes: list[fx.Node], rng: Random, written: bool) -> fx.Node:
        """Values without users first, so that programs hang together, but each may be used again; views for writes."""
        weights = []
        for age, node in enumerate(nodes):
            view = root_of(node) != node.name
            weight = (1.0 if node.users else 4.0) * (1.0 + age / len(nodes)) * (3.0 if written and view else 1.0)
            weights.append(weight * (4.0 if self._on_theme(node) else 1.0))
        return rng.choices(nodes, weights)[0]

    def _on_theme(self, node: fx.Node) -> bool:
        return type_of(node).dtype == self.theme  # type: ignore[union-attr]

    def _adapted(self, want: Want, rng: Random) -> fx.Node | None:
        if rng.random() >= self.profile.adapt:
            return None
        nodes = self.values()
        for node in rng.sample(nodes, min(ADAPT_TRIES, len(nodes))):
            found = self.fitter.fit(node, want, rng, self.before)
            if found is not None:
                return found
        return None

    # --- new values

    def _fresh(self, want: Want, rng: Random) -> fx.Node | None:
        roll = rng.random()
        if not want.mutable and roll < self.profile.in_graph:
            node = self._in_graph(want, rng)
            if node is not None:
                return node
        if not self.fresh_inputs:
            return None
        if want.mutable and self.grad and rng.random() < GRAD_SHARE:
            return self._leaf_copy(want, rng)
        constant = not want.mutable and roll > 1 - self.profile.constant
        spec = self.spec(want, rng, constant)
        if spec is None:
            return None
        if constant:
            self.b.add_constant(spec)
            return self.f.read(spec.name)
        self.b.add_input(spec)
        return self.f.add_placeholder(spec.name, spec.type.with_(alias=spec.view_of))

    def _leaf_copy(self, want: Want, rng: Random) -> fx.Node | None:
        """A copy of a fresh input, which may require grad: backward through a write."""
        leaf = self._fresh(replace(want, mutable=False), rng)
        return None if leaf is None else self.fitter.fit(leaf, want, rng, self.before)

    def spec(self, want: Want, rng: Random, constant: bool = False) -> InputSpec | None:
        """A random input that fits; None where no draw does."""
        for _ in range(DRAWS):
            dtype = self._dtype(want, rng)
            shape = self._shape(want, rng)
            if not constant and rng.random() < self.profile.shared_input:
                spec = self._view_spec(want, shape, rng)
                if spec is not None:
                    return spec
            kind = draw_type(dtype, shape, rng, overlap=not want.mutable)
            if want.problem(kind) is not None:
                kind = tensor(dtype, shape)
                if want.problem(kind) is not None:
                    continue
            if self.grad and not want.mutable and kind.info.kind in ("float", "complex") and not constant:
                kind = kind.with_(requires_grad=rng.random() < GRAD_SHARE)
                if want.problem(kind) is not None:
                    kind = kind.with_(requires_grad=False)
            values = draw_values(dtype, rng)
            if want.values is not None:
                values = want.values.draw(dtype, rng)
                if not drawn_from(want.values, values, kind):
                    continue
            name = self.b.fresh_name("w" if constant else "x")
            return InputSpec(name, kind, values, None, () if constant else _dynamic(kind, rng))
        return None

    def _view_spec(self, want: Want, shape: tuple[int, ...], rng: Random) -> InputSpec | None:
        """An input that shares the storage of another. With backward left out: writes to either would need a check."""
        bases = [s for s in self.b.inputs if s.type.dtype in want.dtypes and s.view_of is None]
        if self.grad or not bases or want.values is not None:
            return None
        base = rng.choice(bases)
        kind = view_into(base, shape, rng)
        if kind is None or want.problem(kind.with_(alias=base.name)) is not None:
            return None
        return InputSpec(self.b.fresh_name("x"), kind, view_of=base.name)

    def _in_graph(self, want: Want, rng: Random) -> fx.Node | None:
        dtype, shape = draw_dtype(want.dtypes, rng), self._shape(want, rng)
        kind = tensor(dtype, shape)
        if want.values is not None or want.problem(kind) is not None:
            return None
        value: Any = rng.choice((0, 1, 2, 3, 7))
        if DTYPES[dtype].kind == "bool":
            value = value % 2 == 1
        elif DTYPES[dtype].kind in ("float", "complex"):
            value = rng.choice((float(value), 0.5, -0.0, -1.5, 1e-3, float("inf")))
        node = self.adapters.apply(
            "constant", self.f, rng, self.before, shape=shape, value=value, dtype=DTYPES[dtype].torch_dtype
        )
        return node if node is not None and self._fits(want, node) else None

    def _dtype(self, want: Want, rng: Random) -> str:
        """Often a dtype that the program has already, so that values combine without casts."""
        if self.theme in want.dtypes and rng.random() < THEME_SHARE:
            assert self.theme is not None
            return self.theme
        here = [k.dtype for k in map(type_of, self.values()) if isinstance(k, TensorType) and k.dtype in want.dtypes]
        if here and rng.random() < 0.5:
            return rng.choice(here)
        floats = want.dtypes & {"f32", "f64", "bf16", "f16"}
        if self.grad and floats and rng.random() < 0.7:
            return draw_dtype(floats, rng)
        return draw_dtype(want.dtypes, rng)

    def _shape(self, want: Want, rng: Random) -> tuple[int, ...]:
        """A shape of the program, or one of the palette, or one that the want itself draws."""
        roll = rng.random()
        if roll < (FUSED_SHAPES if self.fused else 0.35):
            shapes = [k.shape for k in map(type_of, self.values()) if isinstance(k, TensorType)]
            fitting = [s for s in shapes if want.shape.fits(s)]
            if fitting:
                return rng.choice(fitting)
        if roll < 0.8 or self.fused:
            for _ in range(4):
                shape = draw_shape(rng)
                if want.shape.fits(shape):
                    return shape
        return want.shape.draw(rng)


def _dense(kinds: tuple[Type, ...]) -> tuple[TensorType, ...]:
    return tuple(tensor(t.dtype, t.shape) for t in kinds if isinstance(t, TensorType))


def _dynamic(kind: TensorType, rng: Random) -> tuple[int, ...]:
    if rng.random() >= DYNAMIC_SHARE:
        return ()
    large = [d for d, n in enumerate(kind.shape) if n > 1]
    return tuple(d for d in large if rng.random() < 0.6)
