"""A world small enough to predict: a few rules, and type inference on meta tensors in this process."""

from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from fuzzgraph.grammar import RuleBook
from fuzzgraph.grammar.loader import load_text
from fuzzgraph.ir.builtins import resolve
from fuzzgraph.ir.infer import Inferred
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.text import parse
from fuzzgraph.ir.types import FROM_TORCH, ScalarType, SequenceType, TensorType, Type

RULES = """
op add, mul(input, other)
  input : tensor any [*S] broadcast
  other : tensor any [*S] broadcast | number {1, -1}
  result promote(input, other) [*S]
  inplace
  spell method

op relu, neg(input)
  input : tensor real - bool [*S]
  result promote(input) [*S]
  inplace
  spell method

op take(input, index)
  input : tensor any [*S]
  index : tensor i64 [*I:0..3] values index(input.numel)
  where input.numel > 0
  result promote(input) [*I]

op remainder(input, other)
  input : tensor int [*S]
  other : int(1, 99999)
  result promote(input) [*S]

op narrow(input, dim, start, length)
  input  : tensor any [*S:1..5]
  dim    : dim(input)
  start  : int(0, size_at(input, dim))
  length : int(0, size_at(input, dim) - start)
  result promote(input) [*replaced(input, dim, length)]
  alias input

op reshape(input, shape)
  input : tensor any [*S]
  shape : ints(0, 99, 0, 5)
  where product(shape) == input.numel
  result promote(input) [*shape]
  alias input maybe

op broadcast_to(input, size)
  input : tensor any [*S]
  size  : ints(0, 99, 0, 5)
  where broadcast(input, size) == tuple(size)
  result promote(input) [*size]
  alias input

op Tensor.to(self, dtype)
  self  : tensor any [*S]
  dtype : dtype(any)
  result dtype [*S]
  alias self maybe

op clone(input)
  input : tensor any [*S]
  result promote(input) [*S]

op max(input, dim)
  input : tensor real [*S:1..5]
  dim   : dim(input)
  where size_at(input, dim) > 0
"""


def tiny_book(rules: str = RULES) -> RuleBook:
    return RuleBook({rule.op: rule for rule in load_text(rules, Path("tiny.rules"))})


class MetaInference:
    """Types by running the operator on meta tensors; what the rules call aliases are aliases."""

    def __init__(self, book: RuleBook) -> None:
        self.book = book

    def infer(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inferred:
        made: list[torch.Tensor] = []

        def make(t: TensorType | ScalarType) -> Any:
            if isinstance(t, ScalarType):
                return t.value
            root = torch.empty(t.extent, dtype=t.torch_dtype, device="meta")
            made.append(torch.as_strided(root, t.shape, t.stride, t.offset))
            return made[-1]

        try:
            typed = TensorType | ScalarType
            found = resolve(op)(*tree_map_only(typed, make, args), **tree_map_only(typed, make, kwargs))
        except (RuntimeError, TypeError, IndexError) as e:
            return Inferred(None, f"{type(e).__name__}: {e}")
        grad = any(t.requires_grad for t in (*args, *kwargs.values()) if isinstance(t, TensorType))
        items = found if isinstance(found, tuple) else (found,)
        shared = self.book.rules[op].alias is not None and _same_storage(items[0], made[0])
        return Inferred(_described(found, grad), None, (0 if shared else None,) * len(items))


def _described(found: Any, grad: bool) -> Type:
    if isinstance(found, tuple):
        return SequenceType("tuple", tuple(_described(t, grad) for t in found))
    grad = grad and (found.is_floating_point() or found.is_complex())
    shape, stride, offset = tuple(found.shape), tuple(found.stride()), int(found.storage_offset())
    return TensorType(FROM_TORCH[found.dtype], shape, stride, offset, requires_grad=grad)


def _same_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage()._cdata == b.untyped_storage()._cdata


def program(text: str, book: RuleBook | None = None) -> Program:
    """The program of a text whose first line and types of nodes are left out."""
    book = book or tiny_book()
    return parse("fuzzgraph 1\n" + text, MetaInference(book), book.check)
