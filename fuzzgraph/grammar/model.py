"""What a rule is: the operands and attributes of one operator, its result, and how it is written.

All classes are frozen. `loader` makes them from rule files, `matching` holds arguments against them, `sampling`
draws arguments from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..ir.types import TensorType, Type
from .dtypes import DTypes
from .wants import ValueDomain, Want

Env = dict[str, Any]


class Missing:
    """The default of a parameter that has none."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


@dataclass(frozen=True)
class Expr:
    """A compiled expression; `names` are the names that it reads, functions included."""

    source: str
    run: Callable[[Env], Any] = field(repr=False, compare=False)
    names: frozenset[str] = frozenset()
    where: str = ""

    def __call__(self, env: Env) -> Any:
        return self.run(env)


@dataclass(frozen=True)
class Dim:
    """One item of a shape pattern: a variable, an exact size, or (`star`) any number of dims in a rank range."""

    name: str = ""
    size: int | None = None
    star: bool = False
    low: int = 0
    high: int = 5


@dataclass(frozen=True)
class Shape:
    """A shape pattern with at most one star: dims before it, the star, dims after it; or `equal`, the exact shape."""

    head: tuple[Dim, ...] = ()
    star: Dim | None = None
    tail: tuple[Dim, ...] = ()
    equal: Expr | None = None


@dataclass(frozen=True)
class ValuesSpec:
    """What an operand's elements must be: a kind of `wants.DOMAINS` and its parameters."""

    kind: str
    args: tuple[Expr, ...] = ()

    def domain(self, env: Env) -> ValueDomain:
        low, high = (*(float(a(env)) for a in self.args), None, None)[:2]
        return ValueDomain(self.kind, low, high)


@dataclass(frozen=True)
class TensorSpec:
    """A tensor operand. `variable` is bound by the first operand that uses it, within `dtypes`."""

    variable: str | None
    dtypes: DTypes
    shape: Shape | None
    broadcast: bool = False
    written: bool = False
    dense: bool = False
    values: ValuesSpec | None = None
    # A list of tensors has a range of lengths; None for a single tensor.
    count: tuple[int, int] | None = None


@dataclass(frozen=True)
class AttributeSpec:
    """A non-tensor argument: a kind of `attributes.KINDS`, its parameters, and edge values to prefer."""

    kind: str
    args: tuple[Expr, ...] = ()
    values: tuple[Any, ...] = ()


Spec = TensorSpec | AttributeSpec


@dataclass(frozen=True)
class Param:
    """A parameter of the operator, in the order of its signature."""

    name: str
    specs: tuple[Spec, ...]
    default: Any = MISSING
    rare: bool = False
    keyword_only: bool = False

    @property
    def optional(self) -> bool:
        return self.default is not MISSING

    @property
    def tensor(self) -> bool:
        """Whether a tensor (or a list of tensors) may be passed."""
        return any(isinstance(s, TensorSpec) for s in self.specs)


@dataclass(frozen=True)
class Condition:
    """A precondition: `expr` must be true, else `reason` says what is wrong."""

    expr: Expr
    reason: str
    # The variables that must be bound before it can be evaluated.
    names: frozenset[str]


@dataclass(frozen=True)
class ResultItem:
    """Dtype and shape of one result tensor."""

    dtype: Expr
    shape: Expr


@dataclass(frozen=True)
class Alias:
    """The result shares the storage of this operand: always, or (`maybe`) as the strides allow."""

    operand: str
    maybe: bool = False


@dataclass(frozen=True)
class Upstream:
    """A disagreement of torch with itself: which aspects differ, why, and (`condition`) in which calls."""

    aspects: frozenset[str]
    reason: str
    condition: Expr | None = None


@dataclass(frozen=True)
class Draft:
    """One call: arguments hold operands of the source (opaque) and literals."""

    op: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    spelling: str


class Inside(Protocol):
    """What a frame builds a function with."""

    def call(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any], kind: Type) -> Any:
        """Add one call, of which the type is known; gives its result as an operand."""
        ...


@dataclass(frozen=True)
class Frame:
    """What an operator asks of a function that it calls.

    `params` are the types that it passes. `results` are the tensors that the source is to make of them, by calls that
    neither write nor draw random numbers; None: at least one of any type. `plain(inside, type)` makes a tensor of a
    type where the source has no better one. `finish(inside, params, results)` gives what the function returns, of
    operands; results with the type that was asked for share no storage with a parameter.
    """

    params: tuple[Type, ...]
    plain: Callable[[Inside, TensorType], Any]
    results: tuple[TensorType, ...] | None = None
    finish: Callable[[Inside, Sequence[Any], Sequence[Any]], Any] = lambda inside, params, results: tuple(results)


class OperandSource(Protocol):
    """Where sampling gets operands."""

    def function(self, frame: Frame, rng: Any) -> Any:
        """A function, as an operand, that is as the frame says; None where the source can make none."""
        ...

    def tensor(self, want: Want, rng: Any) -> tuple[Any, TensorType] | None:
        """An operand that fits `want`, with its type; None where it has none and can make none."""
        ...


Sampler = Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]] | None]
Checker = Callable[[Env], "str | None"]
# Value domains of the tensors inside arguments, by parameter name, in order of the tensors.
InnerDomains = Callable[[Env], dict[str, "list[ValueDomain | None]"]]
