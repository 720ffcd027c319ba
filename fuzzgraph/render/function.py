"""A function of a program as lines of Python."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch.fx as fx

from ..errors import ProgramError
from ..ir.program import Function, Region, op_of, source_of, type_of
from ..ir.types import NoneType, TensorType
from . import effects
from .forms import Block, Form, indented, written
from .literals import literal
from .names import Names
from .spelling import spell

if TYPE_CHECKING:
    from ..grammar import RuleBook


class FunctionWriter:
    """Writes one function. `owner` is what its captures are attributes of, such as `self`; else they are variables.

    What the module has to define before is added to `definitions`.
    """

    def __init__(
        self, function: Function, names: Names, book: RuleBook | None, forms: Mapping[str, Form], owner: str = "",
        definitions: list[list[str]] | None = None,
    ) -> None:  # fmt: skip
        self.function, self.names, self.book, self.forms, self.owner = function, names, book, forms, owner
        self.order = {node: i for i, node in enumerate(function.body)}
        by_name = {node.name: node for node in function.body}
        spans = [(self.order[by_name[r.first]], self.order[by_name[r.last]], r) for r in function.regions]
        # The widest first; among equals the one given first is the outer one.
        self.spans = sorted(spans, key=lambda s: s[0] - s[1])
        # What stands before the function at module level: the classes that its forms use.
        self.definitions: list[list[str]] = [] if definitions is None else definitions
        # Names that a statement binds anew, by the node that does.
        self.rebound: dict[fx.Node, fx.Node] = {}

    def lines(self) -> list[str]:
        """The function's definition; it stands where its captures are variables of an enclosing one."""
        head = f"def {self.names.outer[self.function.name]}({', '.join(p.name for p in self.function.params)}):"
        return [head, *indented(self.body())]

    def body(self) -> list[str]:
        """The statements of the function, the last of which returns its result."""
        body = [*self._block(0, len(self.order), self.spans), self._return()]
        declared = [f"global {n}" for n in self._outer_rebound(self.rebound)]
        captured = [n.name for n in dict.fromkeys(self.rebound.values()) if n.name in self.function.captures]
        return [*declared, *(f"nonlocal {n}" for n in captured if not self.owner), *body]

    def _name(self, value: Any) -> str:
        """The name of a node."""
        held = self.owner and isinstance(value, fx.Node) and value.name in self.function.captures
        return f"{self.owner}.{value.name}" if held else self.names(value)

    def _return(self) -> str:
        text = literal(self.function.result, self._name)
        if isinstance(self.function.result, tuple) and len(self.function.result) > 1:
            text = text[1:-1]
        return f"return {text}"

    def _block(self, start: int, end: int, spans: list[tuple[int, int, Region]]) -> list[str]:
        """Lines of the nodes start..end-1 with the regions that lie in there."""
        nodes = self.function.body
        out: list[str] = []
        i = start
        while i < end:
            at = next((k for k, span in enumerate(spans) if span[0] == i), None)
            if at is None:
                out += self._node(nodes[i])
                i += 1
            else:
                first, last, region = spans[at]
                inner = [s for k, s in enumerate(spans) if k > at and first <= s[0] and s[1] <= last]
                lines = self._block(first, last + 1, inner)
                out += self._region(region, nodes[first : last + 1], lines)
                i = last + 1
        return out

    def _region(self, region: Region, nodes: list[fx.Node], lines: list[str]) -> list[str]:
        made = self.forms.get(region.form)
        if made is None:
            raise ProgramError(f"unknown form {region.form!r}", hint="one of " + ", ".join(sorted(self.forms)))
        problem = made.problem(region.args)
        if problem:
            raise ProgramError(f"form {region.form}: {problem}")
        inside = set(nodes)
        reads = dict.fromkeys(a for n in nodes for a in n.all_input_nodes if a not in inside)
        results = [n for n in nodes if any(user not in inside for user in n.users)]
        rebound = {n: target for n, target in self.rebound.items() if n in inside and target not in inside}
        local = dict.fromkeys(t.name for t in rebound.values() if t.op != "get_attr" and self._name(t) == t.name)
        block = Block(
            tuple(lines), region.args, tuple(map(self._name, reads)), tuple(n.name for n in results), tuple(local),
            tuple(self._outer_rebound(rebound)), self.names.fresh,
            tuple((self._name(n), kind) for n in reads if isinstance(kind := type_of(n), TensorType)),
            tuple(map(type_of, results)), lambda lines: self.definitions.append(list(lines)),
        )  # fmt: skip
        return written(made, block)

    def _outer_rebound(self, rebound: Mapping[fx.Node, fx.Node]) -> list[str]:
        return [self.names(n) for n in dict.fromkeys(rebound.values()) if n.op == "get_attr"]

    def _node(self, node: fx.Node) -> list[str]:
        if op_of(node) == "python":
            return textwrap.dedent(source_of(node)).strip("\n").rstrip().splitlines()
        spelled = effects.spell_builtin(node, self._name) or spell(node, self._name, self.book)
        if spelled.rebinds:
            self.rebound[node] = node.args[0]  # type: ignore[assignment]
        if spelled.statement:
            return [spelled.text] + ([f"{node.name} = {spelled.value}"] if node.users else [])
        # In-place operators whose result nobody uses stand alone, as people write them, and what gives nothing.
        inplace = op_of(node).endswith("_") and not op_of(node).endswith("__")
        if not node.users and (inplace or spelled.value == "effect" or isinstance(type_of(node), NoneType)):
            return [spelled.text]
        return [f"{node.name} = {spelled.text}"]
