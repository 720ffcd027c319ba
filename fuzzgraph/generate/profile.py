"""How often the generator does what. All shares are probabilities; tables are (value, weight) pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

T = TypeVar("T")


def pick(table: Sequence[tuple[T, float]], rng: Random) -> T:
    """One value of a table, by weight."""
    return rng.choices([value for value, _ in table], [weight for _, weight in table])[0]


@dataclass(frozen=True)
class Profile:
    """The weights of a generator.

    Programs that showed compiler bugs have a median of two operators; what they need is breadth of dtypes, strides,
    edge values, in-place writes and options. The defaults follow that.
    """

    # Operators drawn from rules; adapters (casts, views, clamps) come on top.
    operators: tuple[tuple[int, float], ...] = (
        (1, 22), (2, 32), (3, 24), (4, 12), (5, 6), (6, 3), (8, 2), (16, 1),
    )  # fmt: skip
    # How often a program has a theme: one dtype that most of its operands have, with operators that take it. Code
    # generation errs where two operators meet in a narrow dtype, and independent draws hardly ever let them.
    theme: float = 0.7
    themes: tuple[tuple[str, float], ...] = (
        ("f32", 8), ("f64", 2), ("f16", 2), ("bf16", 2), ("i64", 3), ("i32", 2), ("i16", 2), ("i8", 2), ("u8", 2),
        ("bool", 2), ("c64", 1.5), ("c128", 0.5),
    )  # fmt: skip
    # How often all of a program is of pointwise operators on one dtype and one shape, which the compiler fuses into few
    # kernels: many operators cost little more than one there, and what errs is often a pair of them.
    fused: float = 0.3
    fused_operators: tuple[tuple[int, float], ...] = ((12, 3), (16, 3), (24, 2), (32, 1))
    # Of floats it is fewer: vectorized mathematics costs the C++ compiler twice to four times as much.
    fused_floats: tuple[tuple[int, float], ...] = ((6, 2), (8, 3), (12, 1))
    # Narrow dtypes are computed in a wider one and narrowed again, by rules that each operator has for itself.
    fused_themes: tuple[tuple[str, float], ...] = (
        ("i16", 3), ("i8", 3), ("u8", 3), ("f16", 2), ("bf16", 2), ("bool", 1.5), ("i32", 1), ("i64", 1), ("f32", 1),
        ("f64", 0.5), ("c64", 0.5),
    )  # fmt: skip
    # The families of those operators, with the factors of their weights: what errs is most often a binary operator.
    fused_families: tuple[tuple[str, float], ...] = (("unary", 2.0), ("binary", 3.0), ("ternary", 1.6))
    # There, the weight of an operator that stays in the dtype is multiplied: those that leave it end a chain.
    fused_closed: float = 10.0
    # Elsewhere, the weights of these families are multiplied: what is pointwise has the fused programs, and what the
    # compiler lowers by much code for few operators is worth more than one of many alike.
    families: tuple[tuple[str, float], ...] = (
        ("unary", 0.5), ("binary", 0.6), ("ternary", 0.8), ("cast", 0.8), ("activation", 1.8), ("reduction", 1.8),
        ("normalization", 3.0), ("joining", 2.5), ("window", 1.6), ("matmul", 1.5), ("statistics", 1.5),
        ("native", 1.5), ("loss", 1.3), ("indexing", 1.3), ("masked", 1.3), ("nested", 1.3),
    )  # fmt: skip
    # A rule's weight is multiplied for each of these tags that it has.
    tags: Mapping[str, float] | None = None
    # How often an operand is made anew although values exist; falls as inputs accumulate. `apart` is that of the first
    # operand of a call: without a value of the program, the call stands apart from the rest of it.
    fresh: float = 0.35
    apart: float = 0.1
    # How often a view that was just made is written next, and a fresh input shares the storage of another.
    write_view: float = 0.5
    shared_input: float = 0.12
    # How often a fresh operand is a module constant, or made by an operator in the graph, rather than an input.
    constant: float = 0.06
    in_graph: float = 0.06
    # How often an existing value that does not fit is adapted rather than left.
    adapt: float = 0.7
    # How often an intermediate, or an input, is returned along with the leaves.
    extra_output: float = 0.15
    # How often a program calls its function more than once.
    calls: float = 0.15
    # How often literals are said by Python numbers, made of sizes or read from tensors, and how many operators such a
    # program has; how often one that takes a number is added then, and a condition on sizes is asserted; how often it
    # calls again.
    numbers: float = 0.12
    number_operators: tuple[tuple[int, float], ...] = ((1, 4), (2, 4), (3, 2))
    number_taker: float = 0.6
    number_assert: float = 0.15
    number_calls: float = 0.5
    # The same of one with a form that may show in a further call only.
    again_calls: float = 0.7
    # How often a value has a size that depends on data.
    unsized: float = 0.02
    # How often a run of nodes is written with a Python form, and then a further one.
    form: float = 0.5
    more_forms: float = 0.45
    # How often Python is put around the operators: state, helper functions, closures, modules, arguments.
    surroundings: float = 0.2
    # How often run options are drawn; else they are the defaults (with or without backward).
    options: float = 0.4
    grad: float = 0.45
    config: float = 0.3

    def tag_factor(self, tags: frozenset[str]) -> float:
        """The product of the factors of these tags."""
        factor = 1.0
        for tag in sorted(tags):
            factor *= (self.tags if self.tags is not None else TAG_FACTORS).get(tag, 1.0)
        return factor


# Most functional operators have an in-place rule beside them, so that without a factor every other pointwise call would
# be a write. Uninitialized memory cannot be compared: such operators only serve coverage.
TAG_FACTORS: Mapping[str, float] = {"inplace": 0.8, "uninitialized": 0.1}
