"""What is known of the elements of a value: whether an operator that needs an index, a divisor, ... may take it.

Values are known where they come from an input that nothing writes, from views of one, or from an adapter; of any other
value nothing is known, and it does not satisfy a domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch.fx as fx

from ..grammar.rule import RuleBook
from ..grammar.wants import ValueDomain
from ..ir.builder import Builder, FunctionBuilder
from ..ir.builtins import BUILTINS
from ..ir.program import InputSpec, Ref, root_of, rooted_types_in, type_of
from ..ir.types import TensorType
from ..ir.typing import callable_names, find_spec, is_opaque, operands
from ..ir.values import INTEGER_RANGE, VALUE_KINDS, Values
from .adapt import Adapters

# Domains that hold for each element by itself, so that a view keeps them.
ELEMENTWISE = frozenset({"index", "between", "nonzero"})


def written_nodes(book: RuleBook, node: fx.Node) -> list[fx.Node]:
    """The operands that a call writes."""
    rule = book.rules.get(str(node.meta.get("op")))
    if node.op != "call_function" or rule is None:
        return []
    places = rule.written(rooted_types_in(node.args), rooted_types_in(dict(node.kwargs)))
    return operands([node.args[p] if isinstance(p, int) else node.kwargs[p] for p in places])


@dataclass(frozen=True)
class Doubt:
    """An operand, the one at flat tensor position `at` of a node, that may lie outside a domain."""

    node: fx.Node
    at: int
    operand: fx.Node
    domain: ValueDomain


class Knowledge:
    """What is known of the values of one function. Looks at the builder anew with each question."""

    def __init__(self, book: RuleBook, adapters: Adapters, b: Builder, f: FunctionBuilder) -> None:
        self.book, self.adapters, self.b, self.f = book, adapters, b, f

    def holds(self, domain: ValueDomain, node: fx.Node) -> bool:
        """Whether all elements of a value are surely in the domain."""
        kind = type_of(node)
        if not isinstance(kind, TensorType):
            return False
        if domain.kind == "nonzero" and kind.info.kind in ("float", "complex"):
            return True
        if domain.kind == "index" and kind.dtype == "bool":
            return (domain.low or 0) >= 2
        places = self.adapters.served(node, domain.kind)
        if places is not None and self._unwritten(node):
            return _served(domain, places, kind)
        source = self._source(node)
        if source is None or (source is not node and domain.kind not in ELEMENTWISE):
            return False
        specs = self._specs(source)
        return bool(specs) and all(_fits(domain, s.values, s.type, source is node) for s in specs)

    def doubts(self) -> list[Doubt]:
        """The operands of the function that are not known to be in the domain that their operator needs."""
        found = []
        for node in self.f.body:
            op = str(node.meta["op"])
            rule = self.book.rules.get(op)
            if rule is None or op in BUILTINS:
                continue
            types = rooted_types_in(node.args), rooted_types_in(dict(node.kwargs))
            if is_opaque(types):
                continue
            tensors = [n for n in operands((node.args, dict(node.kwargs))) if isinstance(type_of(n), TensorType)]
            for at, domain in rule.domains(*types).items():
                if at < len(tensors) and not self.holds(domain, tensors[at]):
                    found.append(Doubt(node, at, tensors[at], domain))
        return found

    def _source(self, node: fx.Node) -> fx.Node | None:
        """The placeholder or constant that a value is, or is a view of in the same dtype, if nothing writes it."""
        try:
            root = self.f.node(root_of(node))
        except KeyError:
            # The root of an input that is a view of another input is that input.
            root = node
        if root.op not in ("placeholder", "get_attr") or not self._unwritten(root):
            return None
        types = type_of(root), type_of(node)
        return root if all(isinstance(t, TensorType) for t in types) and types[0].dtype == types[1].dtype else None  # type: ignore[union-attr]

    def _unwritten(self, node: fx.Node) -> bool:
        """Whether nothing in the program writes memory that a value shares."""
        mine = {root_of(node), *(s.view_of or s.name for s in self._specs(node))}
        for f in self.b.functions.values():
            for other in f.body:
                for target in written_nodes(self.book, other):
                    theirs = {root_of(target)}
                    for n in f.placeholders:
                        if n.name in theirs:
                            theirs |= {s.view_of or s.name for s in self._specs(n)}
                    if mine & theirs:
                        return False
        return True

    def _specs(self, node: fx.Node) -> list[InputSpec]:
        """The specs of all inputs that a placeholder stands for; empty where that is not known."""
        if node.op == "get_attr":
            return [s for s in self.b.constants if s.name == node.target]
        position = self._position(node)
        if position is None:
            return []
        found = []
        callers = callable_names(self.b, self.f.name)
        for call in self.b.calls:
            # A call may lack arguments of parameters that were just added.
            if call.function in callers and position < len(call.args):
                arg: Any = call.args[position]
                if not isinstance(arg, Ref):
                    return []
                spec = find_spec(self.b, arg.name)
                if spec is None:
                    return []
                base = self.b.spec(spec.view_of) if spec.view_of else spec
                found.append(InputSpec(spec.name, spec.type, base.values, base.storage, (), spec.view_of))
        return found or self._under_construction(node)

    def _under_construction(self, node: fx.Node) -> list[InputSpec]:
        """Before there are calls, a parameter stands for the input of its name."""
        names = {s.name for s in self.b.inputs}
        return [self.b.spec(node.name)] if node.name in names else []

    def _position(self, node: fx.Node) -> int | None:
        params = [n.name for n in self.f.placeholders[len(self.f.captures) :]]
        return params.index(node.name) if node.op == "placeholder" and node.name in params else None


def _served(domain: ValueDomain, places: dict[str, Any], kind: TensorType) -> bool:
    """Whether an adapter's result is in the domain, from what stands in its places."""
    if domain.kind == "index":
        n = places["n"] if "n" in places else places["top"] + 1
        return isinstance(n, int) and 1 <= n <= (domain.low or 0)
    if domain.kind == "between":
        low, high = interval(domain)
        return bool(low <= places["low"] and places["high"] <= high)
    return domain.kind != "unique" or (kind.rank == 1 and (domain.low is None or kind.numel <= domain.low))


def interval(domain: ValueDomain) -> tuple[float, float]:
    """The bounds of a domain `between`, 0 and 1 where it leaves them out."""
    return domain.low or 0.0, 1.0 if domain.high is None else domain.high


def drawn_from(domain: ValueDomain, values: Values, kind: TensorType) -> bool:
    """Whether an input of this type with these values is surely in the domain."""
    return _fits(domain, values, kind, True)


def _fits(domain: ValueDomain, values: Values, kind: TensorType, whole: bool) -> bool:
    """Whether a distribution draws only from the domain. `whole`: the value is the input itself, not a view of it."""
    low, high = bounds(values, kind)
    if domain.kind == "index":
        top = domain.low or 0
        return low is not None and high is not None and low >= 0 and high < top
    if domain.kind == "between":
        least, most = interval(domain)
        return low is not None and high is not None and least <= low and high <= most
    if domain.kind == "nonzero":
        if kind.info.kind in ("float", "complex"):
            return True
        return (low is not None and low > 0) or (high is not None and high < 0)
    if not whole or not kind.is_contiguous or kind.offset:
        return False
    if domain.kind == "unique":
        return values.kind == "permutation" and (domain.low is None or kind.numel <= domain.low)
    return values.kind == "arange" and _ascending(values, kind)


def bounds(values: Values, kind: TensorType) -> tuple[float | None, float | None]:
    """The least and greatest element that a distribution can draw, None where it is not limited."""
    params = (*values.params, *VALUE_KINDS[values.kind].defaults[len(values.params) :])
    if values.kind == "bools":
        return 0, 1
    if values.kind in ("uniform", "ints"):
        low, high = params[0], params[1]
        if kind.info.kind == "int":
            limits = INTEGER_RANGE[kind.dtype]
            low, high = (min(max(v, limits[0]), limits[1]) for v in (low, high))
        return low, high
    if values.kind == "full":
        return params[0], params[0]
    if values.kind == "index":
        return 0, params[0] - 1
    if values.kind == "permutation":
        return 0, max(kind.extent - 1, 0)
    if values.kind == "data" and values.params and not any(p != p for p in values.params):
        return min(values.params), max(values.params)
    return None, None


def _ascending(values: Values, kind: TensorType) -> bool:
    params = (*values.params, *VALUE_KINDS[values.kind].defaults[len(values.params) :])
    start, step = params[:2]
    limit = INTEGER_RANGE.get(kind.dtype, (-2048, 2048))
    return bool(step >= 0 and limit[0] <= start and start + step * kind.numel <= limit[1])
