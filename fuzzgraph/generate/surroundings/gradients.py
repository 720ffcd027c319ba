"""Gradients that are taken inside the function."""

from __future__ import annotations

from random import Random

import torch.fx as fx

from ...ir.builder import Rejected
from ...ir.program import type_of
from ...ir.types import AnyType, FunctionType, SequenceType, tensor
from ..domains import written_nodes
from ..numbers import Numbers
from .places import alone, carries_grad


def differentiate(numbers: Numbers, rng: Random) -> None:
    """The gradient of a value with respect to an input, taken inside the function and returned too."""
    b, f = numbers.b, numbers.f
    if f.regions or any(c.contexts for c in b.calls) or any(written_nodes(numbers.book, n) for n in f.body):
        raise Rejected("autograd may be off, or miss what a write took away")
    sources = [n for n in f.placeholders if carries_grad(n)]
    pairs = [(n, x) for n in f.body if carries_grad(n) for x in sources if _depends(n, x)]
    if not pairs:
        raise Rejected("nothing requires grad")
    node, source = rng.choice(pairs)
    if type_of(node).info.kind != "float" or "sum" not in numbers.book.rules:  # type: ignore[union-attr]
        raise Rejected("no real value")
    whole = f.op("sum", (node,))
    if b.options.grad and rng.random() < 0.5:
        b.set_options(grad=False)
    again = (True,) if b.options.grad else ()
    given = alone(source)
    kind = SequenceType("tuple", (tensor(given.dtype, given.shape).with_(requires_grad=b.options.grad),))
    both = f.op("autograd.grad", (whole, source, *again), type=kind)
    found = f.op("getitem", (both, 0))
    f.returns((f.result, found))


def _depends(node: fx.Node, source: fx.Node) -> bool:
    """Whether autograd surely leads from a value to an input: all of the way through tensors that carry grad, and
    through nothing that calls functions, whose results only may."""
    seen, todo = set(), [node]
    while todo:
        at = todo.pop()
        if at is source:
            return True
        if at not in seen and not any(isinstance(type_of(n), FunctionType | AnyType) for n in at.all_input_nodes):
            seen.add(at)
            todo += [n for n in at.all_input_nodes if carries_grad(n) or isinstance(type_of(n), SequenceType)]
    return False
