"""Violate one precondition of one call on purpose: a bad index, bound, dtype, shape or kind. Eager is to raise, and so
is the compiled program; what is made says so (`expects_error`) and is not mutated further."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

import torch.fx as fx

from ..grammar.dtypes import CLASSES
from ..grammar.model import AttributeSpec
from ..grammar.wants import ValueDomain
from ..ir.builder import FunctionBuilder, Rejected
from ..ir.builtins import BUILTINS
from ..ir.hash import content_hash
from ..ir.program import Program, Ref, bare_types_in, rooted_types_in, type_of
from ..ir.types import DTYPES, TensorType
from ..ir.typing import find_spec, operands
from ..ir.values import INTEGER_RANGE, Values
from . import mutator
from ._edit import TRIES, Edit, Place, add_result, substitute
from .tools import Tools

# Values that are out of most ranges, and small enough that an operator which takes them all the same stays cheap.
BAD_NUMBERS = (-1, 0, 5, -5, 9, 100, -100)
# What stands where a tensor belongs.
NUMBERS = (2, 0.5)


@mutator("break_precondition", weight=0.4)
class BreakPrecondition:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        if program.options.expects_error:
            return None
        before = content_hash(program)
        for _ in range(2 * TRIES):
            try:
                made = self._broken(Edit(program, tools), rng)
            except Rejected:
                continue
            if content_hash(made) != before:
                return made
        return None

    def _broken(self, edit: Edit, rng: Random) -> Program:
        f, node = edit.choose(edit.has_rule, rng)
        if len(edit.b.functions) > 1 or edit.b.closures:
            raise Rejected("not the only function")
        kinds = [self._index, self._bound, self._dtype, self._shape, self._kind]
        rng.shuffle(kinds)
        broken = False
        for kind in kinds:
            broken = broken or kind(edit, (f, node), rng)
        if not broken:
            raise Rejected("no precondition to violate")
        # One call, which runs into it: a result that nothing needs may be left out by right.
        edit.b.calls = edit.b.calls[:1]
        if node not in operands(f.result):
            add_result(f, node, rng)
        edit.drop_inputs()
        edit.b.set_options(expects_error=True)
        edit.b.stale = True
        made = edit.b.build()
        if refused(edit) != {node.name}:
            raise Rejected("not this call alone is refused")
        return made

    # --- what is violated: each changes one operand or attribute of the node, or returns False

    def _index(self, edit: Edit, place: Place, rng: Random) -> bool:
        """Elements of an operand, outside what its operator needs."""
        f, node = place
        rule = edit.tools.book.rules[str(node.meta["op"])]
        tensors = [n for n in operands((node.args, dict(node.kwargs))) if isinstance(type_of(n), TensorType)]
        domains = rule.domains(rooted_types_in(node.args), rooted_types_in(dict(node.kwargs)))
        found = [(tensors[at], d) for at, d in domains.items() if at < len(tensors) and _outside(d, tensors[at])]
        if not found:
            return False
        operand, domain = rng.choice(found)
        kind, bad = type_of(operand), rng.choice(_outside(domain, operand))
        assert isinstance(kind, TensorType)
        if not kind.numel:
            return False
        if self._set_input(edit, f, operand, bad):
            return True
        places = {"shape": kind.shape, "value": bad, "dtype": kind.torch_dtype}
        constant = edit.adapters.apply("constant", f, rng, node, **places)
        if constant is None:
            return False
        substitute(node, {operand: constant})
        return True

    def _set_input(self, edit: Edit, f: FunctionBuilder, operand: fx.Node, bad: int) -> bool:
        """Let an input hold the value, where the operand is an input."""
        params = f.placeholders[len(f.captures) :]
        if operand not in params:
            return False
        argument = edit.b.calls[0].args[params.index(operand)]
        spec = find_spec(edit.b, argument.name) if isinstance(argument, Ref) else None
        if spec is None or spec.view_of:
            return False
        edit.b.set_input(spec.name, replace(spec, values=Values("full", (bad,))))
        return True

    def _bound(self, edit: Edit, place: Place, rng: Random) -> bool:
        """An attribute out of its range."""
        _, node = place
        rule = edit.tools.book.rules[str(node.meta["op"])]
        places: list[tuple[int | str, Any]] = [*enumerate(node.args), *node.kwargs.items()]
        found = []
        for key, value in places:
            param = rule.params[key] if isinstance(key, int) else rule.param.get(key)
            if param is None or not any(isinstance(s, AttributeSpec) for s in param.specs):
                continue
            found += [(key, bad) for bad in _bad_values(value) if refuses(edit, node, *_with(node, key, bad))]
        if not found:
            return False
        args, kwargs = _with(node, *rng.choice(found))
        node.args, node.kwargs = args, kwargs
        node.meta.pop("spelling", None)
        return True

    def _dtype(self, edit: Edit, place: Place, rng: Random) -> bool:
        """An operand of a dtype that the operator does not take, or that does not go with the others."""
        f, node = place

        def casts(x: fx.Node) -> Iterator[Callable[[], fx.Node | None]]:
            for name in rng.sample(sorted(CLASSES["any"]), len(CLASSES["any"])):
                dtype = DTYPES[name].torch_dtype
                yield lambda d=dtype: edit.adapters.apply("cast", f, rng, node, x=x, dtype=d)  # type: ignore[misc]

        return self._replaced(edit, place, rng, casts)

    def _shape(self, edit: Edit, place: Place, rng: Random) -> bool:
        """An operand of a shape that does not go with the others, or of another rank."""
        f, node = place

        def shapes(x: fx.Node) -> Iterator[Callable[[], fx.Node | None]]:
            kind = type_of(x)
            assert isinstance(kind, TensorType)
            for dim, size in enumerate(kind.shape):
                if size > 1:
                    places = {"dim": dim, "start": 0, "length": size - 1}
                    yield lambda p=places: edit.adapters.apply("narrow", f, rng, node, x=x, **p)  # type: ignore[misc]
            for shape in ((kind.numel,), (*kind.shape, 1), (1, *kind.shape)):
                yield lambda s=shape: edit.adapters.apply("reshape", f, rng, node, x=x, shape=s)  # type: ignore[misc]

        return self._replaced(edit, place, rng, shapes)

    def _kind(self, edit: Edit, place: Place, rng: Random) -> bool:
        """A tensor where a number belongs, or a number where a tensor does."""
        _, node = place
        # One of a single element eager takes for a number.
        tensors = [n for n in node.all_input_nodes if isinstance(k := type_of(n), TensorType) and k.numel > 1]
        method = str(node.meta["op"]).startswith("Tensor.")
        found: list[tuple[int | str, Any]] = []
        places: list[tuple[int | str, Any]] = [*enumerate(node.args), *node.kwargs.items()]
        for key, value in places:
            if isinstance(value, fx.Node):
                others: tuple[Any, ...] = NUMBERS if value in tensors and not (method and key == 0) else ()
            else:
                others = tuple(tensors) if isinstance(value, int | float) and not isinstance(value, bool) else ()
            found += [(key, other) for other in others if refuses(edit, node, *_with(node, key, other))]
        rng.shuffle(found)
        chosen = next((at for at in found if _raises(edit, node, *_with(node, *at))), None)
        if chosen is None:
            return False
        node.args, node.kwargs = _with(node, *chosen)
        node.meta.pop("spelling", None)
        return True

    def _replaced(
        self, edit: Edit, place: Place, rng: Random,
        makers: Callable[[fx.Node], Iterator[Callable[[], fx.Node | None]]],
    ) -> bool:  # fmt: skip
        """Let one operand be the first of what `makers` make of it that the rule refuses."""
        f, node = place
        tensors = [n for n in dict.fromkeys(node.all_input_nodes) if isinstance(type_of(n), TensorType)]
        rng.shuffle(tensors)
        for x in tensors:
            for make in makers(x):
                new = make()
                if new is None:
                    continue
                before = node.args, dict(node.kwargs)
                substitute(node, {x: new})
                if refuses(edit, node, node.args, dict(node.kwargs)):
                    return True
                node.args, node.kwargs = before
                f.erase(new)
        return False


def refused(edit: Edit) -> set[str]:
    """Calls that the grammar refuses, or whose elements may be out of range and were not before."""
    found = {name for name, _ in edit.problems(edit.b) - edit.doubtful}
    nodes = (n for f in edit.functions() for n in f.body if edit.has_rule(n) and n.meta["op"] not in BUILTINS)
    return found | {n.name for n in nodes if refuses(edit, n, n.args, dict(n.kwargs))}


def refuses(edit: Edit, node: fx.Node, args: Any, kwargs: Any) -> bool:
    """Whether the grammar refuses this call in the place of a node."""
    return edit.tools.book.check(str(node.meta["op"]), rooted_types_in(args), rooted_types_in(kwargs)) is not None


def _raises(edit: Edit, node: fx.Node, args: Any, kwargs: Any) -> bool:
    """Whether inference refuses the call, too: rules need not know that a number stands for a tensor of no dims."""
    return edit.tools.infer.infer(str(node.meta["op"]), bare_types_in(args), bare_types_in(kwargs)).type is None


def _outside(domain: ValueDomain, operand: fx.Node) -> list[int]:
    """Numbers outside a domain that eager holds its operands against, as far as the operand's dtype has them."""
    kind = type_of(operand)
    if not isinstance(kind, TensorType) or kind.info.kind != "int":
        return []
    low, high = INTEGER_RANGE[kind.dtype]
    n = int(domain.low or 0)
    wanted = {"index": (n, n + 3, -n - 1), "nonzero": (0,)}.get(domain.kind, ())
    return [v for v in wanted if low <= v <= high]


def _bad_values(value: Any) -> list[Any]:
    """Other values for an attribute: of its kind, mostly out of range."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int):
        return [v for v in BAD_NUMBERS if v != value]
    if isinstance(value, float):
        return [float(v) for v in BAD_NUMBERS if v != value]
    if isinstance(value, tuple | list) and value and all(type(v) is int for v in value):
        pairs = [(at, bad) for at in range(len(value)) for bad in BAD_NUMBERS]
        changed = [[bad if i == at else v for i, v in enumerate(value)] for at, bad in pairs]
        return [type(value)(v) for v in (*changed, [*value, value[-1]], value[:-1])]
    return []


def _with(node: fx.Node, key: int | str, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args, kwargs = list(node.args), dict(node.kwargs)
    if isinstance(key, int):
        args[key] = value
    else:
        kwargs[key] = value
    return tuple(args), kwargs
