"""What eager refuses, or torch documents to compile otherwise, though each call by itself is fine.

Writes under autograd: to leaves, to saved values, to items of a split, twice over. Two half dtypes under autocast.
Gradients of calls under it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.fx as fx

from ..grammar.rule import RuleBook
from ..ir.builder import Builder, FunctionBuilder
from ..ir.nested import called_by_operators, functions_in
from ..ir.program import Ref, op_of, root_of, type_of
from ..ir.types import FROM_TORCH, NoneType, ScalarType, SequenceType, TensorType
from ..ir.typing import operands
from ..render.instances import BACKWARD, load_instances, offers
from .adapt import Adapters
from .domains import written_nodes
from .regions import facts_of, may_need_grad

HALVES = frozenset({"f16", "bf16"})


def hazard(book: RuleBook, adapters: Adapters, b: Builder) -> str | None:
    """Why the program may fail in eager, or differ from it by design, although its calls are valid; None where it
    surely does not."""
    reason = mixed_halves(b) or other_autocast(b) or impure(book, b) or foreign(book, b) or misheld(book, b)
    return reason or _unsafe_write(book, adapters, b)


# What a function must not hold that an operator calls: torch documents that these refuse such functions, or calls it
# as often as it likes.
IMPURE = frozenset({"random", "uninitialized", "nondeterministic", "inplace"})


def impure(book: RuleBook, b: Builder) -> str | None:
    """Operators that call functions want them without effects, and with results that are no views of operands."""
    called = called_by_operators(n for f in b.functions.values() for n in f.body)
    for f in (b.functions[name] for name in sorted(called)):
        for node in f.body:
            rule = book.rules.get(op_of(node))
            if (rule is not None and rule.tags & IMPURE) or written_nodes(book, node):
                return f"{f.name} is called by an operator, and {node.name} has effects"
        own = {n.name for n in f.body}
        roots = [root_of(n) for n in operands(f.result) if isinstance(type_of(n), TensorType)]
        if len(set(roots)) < len(roots) or not own.issuperset(roots):
            return f"{f.name} is called by an operator, and returns a view of what it is given, or one storage twice"
    return None


def foreign(book: RuleBook, b: Builder) -> str | None:
    """Operators in functions of which their caller takes only some."""
    for node in (n for f in b.functions.values() for n in f.body):
        rule = book.rules.get(op_of(node))
        if rule is None or not rule.functions:
            continue
        for name in functions_in((node.args, dict(node.kwargs))):
            other = next((n for n in b.functions[name].body if op_of(n) not in rule.functions), None)
            if other is not None:
                return f"{rule.op} calls {name}, and takes no {op_of(other)} in it"
    return None


def misheld(book: RuleBook, b: Builder) -> str | None:
    """Functions that an operator, an autograd.Function or a decorator holds, and that are no longer what it takes."""
    kinds = load_instances()
    held = [(c, kinds[c.kind]) for c in b.closures if hasattr(kinds.get(c.kind), "offers")]
    made = {g.name: g.finish() for g in b.functions.values()} if held else {}
    for closure, kind in held:
        f = b.functions[closure.function]
        reason = kind.problem(closure.args, made, made[f.name])
        if reason:
            return f"{closure.name}: {reason}"
        args = tuple(BACKWARD if isinstance(a, Ref) else a for a in closure.args)
        if not f.body or args not in offers(kind, facts_of(book, b, f, f.body)):
            return f"{closure.name}: no {closure.kind} may hold {f.name}"
    return None


def mixed_halves(b: Builder) -> str | None:
    """Autocast to one half dtype refuses to promote values of the other one."""
    named: set[Any] = {b.options.autocast}
    named |= {a for call in b.calls for context in call.contexts for a in context.args}
    named |= {FROM_TORCH.get(a, "") for f in b.functions.values() for r in f.regions for a in r.args if _is_dtype(a)}
    halves = named & HALVES
    if not halves:
        return None
    kinds = [type_of(n) for f in b.functions.values() for n in f.nodes]
    found = {k.dtype for k in kinds if isinstance(k, TensorType)}
    return f"autocast to {min(halves)} meets the other half dtype" if halves | found >= HALVES else None


def other_autocast(b: Builder) -> str | None:
    """Compiled code computes gradients under the autocast that the call had (functorch.backward_pass_autocast), eager
    under that which backward is called in: behind the call's contexts."""
    within = any(context.name == "autocast" for call in b.calls for context in call.contexts)
    return "backward of a call under autocast runs outside of it" if b.options.grad and within else None


def _is_dtype(value: Any) -> bool:
    return isinstance(value, torch.dtype)


def _unsafe_write(book: RuleBook, adapters: Adapters, b: Builder) -> str | None:
    """Why backward (or a write before it) may fail; None where all writes are surely fine.

    Cautious: every operand and the result of a differentiable operator count as saved for backward, whether or not the
    program runs it. Programs without an input that requires grad have no hazard.
    """
    if not may_need_grad(b):
        return None
    for f in b.functions.values():
        reason = next(_hazards(book, adapters, b, f), None)
        if reason is not None:
            return f"{f.name}: {reason}"
    return None


def _hazards(book: RuleBook, adapters: Adapters, b: Builder, f: FunctionBuilder) -> Iterator[str]:
    flow = Flow(adapters, f)
    written: set[str] = set()
    for node in f.body:
        targets = written_nodes(book, node)
        for target in targets:
            root = flow.root(target)
            mine = [n for n in operands((node.args, dict(node.kwargs))) if flow.root(n) == root]
            if root in flow.saved or (len(mine) > 1 and flow.differentiable(node)):
                yield f"{node.name} writes {target.name}, which backward may need"
            if root in flow.leaves:
                yield f"{node.name} writes {target.name}, which shares memory with a leaf that requires grad"
            if root in flow.split and (flow.differentiable(node) or root in flow.grads):
                yield f"{node.name} writes {target.name}, a view that came with others"
            if root in flow.inputs and flow.differentiable(node) and len(b.calls) > 1:
                yield f"{node.name} makes input {root} part of a graph that a second call would need again"
        flow.follow(node, targets)
        written |= {flow.root(t) for t in targets}
    again = written & flow.inputs & flow.saved
    if len(b.calls) > 1 and again:
        yield f"a second call writes {min(again)}, which backward of the first may need"


def flow_at(book: RuleBook, adapters: Adapters, f: FunctionBuilder, until: fx.Node | None = None) -> Flow:
    """What is known at a place of a function: at the end, or before a node."""
    flow = Flow(adapters, f)
    for node in f.body:
        if node is until:
            break
        flow.follow(node, written_nodes(book, node))
    return flow


class Flow:
    """What is known while going through a function: roots that need grad, that are saved, leaves, items of a split."""

    def __init__(self, adapters: Adapters, f: FunctionBuilder) -> None:
        self.adapters = adapters
        heads = [n for n in f.nodes if n.op != "call_function"]
        self.inputs = {self.root(n) for n in heads}
        self.leaves = {self.root(n) for n in heads if _needs_grad(n)}
        self.grads = set(self.leaves)
        self.saved: set[str] = set()
        self.split: set[str] = set()

    @staticmethod
    def root(node: fx.Node) -> str:
        return root_of(node)

    def differentiable(self, node: fx.Node) -> bool:
        """Whether an operand carries grad, or a result does that has it of a layer's parameters."""
        given = operands((node.args, dict(node.kwargs)))
        return _needs_grad(node) or any(self.root(n) in self.grads or _needs_grad(n) for n in given)

    def may_write(self, node: fx.Node) -> bool:
        """Whether a write to a value here is fine whatever is written."""
        root = self.root(node)
        return root not in self.saved | self.leaves | self.split

    def follow(self, node: fx.Node, targets: list[fx.Node]) -> None:
        """Take note of what a call that was found fine does."""
        if not self.differentiable(node) or isinstance(type_of(node), ScalarType | NoneType):
            return
        if node.meta.get("op") == "getitem":
            # The items of a tuple of views cannot be written; those of other tuples are saved results.
            self.split.add(self.root(node))
            self.saved.add(self.root(node))
            return
        view = isinstance(type_of(node), TensorType) and self.root(node) != node.name and not targets
        if not view and self.adapters.served(node, "copy") is None:
            self.saved |= {self.root(node)} | {self.root(n) for n in operands((node.args, dict(node.kwargs)))}
        self.grads |= {self.root(node)} | {self.root(t) for t in targets}


def _needs_grad(node: fx.Node) -> bool:
    kind = type_of(node)
    if isinstance(kind, SequenceType):
        return any(isinstance(t, TensorType) and t.requires_grad for t in kind.items)
    return isinstance(kind, TensorType) and kind.requires_grad
