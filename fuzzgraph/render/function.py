"""A function of a program as lines of Python."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch.fx as fx

from ..errors import ProgramError
from ..ir.program import Function, Region, op_of, source_of, type_of
from ..ir.types import NoneType, TensorType
from . import effects
from .forms import Block, Form, indented
from .literals import literal
from .names import Names
from .spelling import spell

if TYPE_CHECKING:
    from ..grammar import RuleBook


class FunctionWriter:
    """Writes one function; one with captures as a factory of that name.

    `lines()` gives the whole definition; after it, `definitions` are what the module has to define before.
    """

    def __init__(
        self, function: Function, names: Names, book: RuleBook | None, forms: Mapping[str, Form],
        factory: str | None = None,
    ) -> None:  # fmt: skip
        self.function, self.names, self.book, self.forms, self.factory = function, names, book, forms, factory
        self.order = {node: i for i, node in enumerate(function.body)}
        by_name = {node.name: node for node in function.body}
        spans = [(self.order[by_name[r.first]], self.order[by_name[r.last]], r) for r in function.regions]
        # The widest first; among equals the one given first is the outer one.
        self.spans = sorted(spans, key=lambda s: s[0] - s[1])
        # What stands before the function at module level: the classes that its forms use.
        self.definitions: list[list[str]] = []
        # Names that a statement binds anew, by the node that does.
        self.rebound: dict[fx.Node, fx.Node] = {}

    def lines(self) -> list[str]:
        body = self._block(0, len(self.order), self.spans)
        body += [self._return()]
        captures, params = self._split()
        head = f"def {self.names.outer[self.function.name]}({', '.join(p.name for p in params)}):"
        inside = [f"global {n}" for n in self._outer_rebound(self.rebound)]
        captured = [n for n in dict.fromkeys(self.rebound.values()) if n in captures]
        inside += [f"nonlocal {n.name}" for n in captured]
        text = [head, *indented(inside + body)]
        if self.factory is None:
            return text
        name = self.names.outer[self.function.name]
        return [f"def {self.factory}({', '.join(c.name for c in captures)}):", *indented([*text, "", f"return {name}"])]

    def _split(self) -> tuple[list[fx.Node], list[fx.Node]]:
        heads, count = self.function.placeholders, len(self.function.captures)
        return heads[:count], heads[count:]

    def _return(self) -> str:
        text = literal(self.function.result, self.names)
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
        local = dict.fromkeys(t.name for t in rebound.values() if t.op != "get_attr")
        block = Block(
            tuple(lines), region.args, tuple(map(self.names, reads)), tuple(n.name for n in results), tuple(local),
            tuple(self._outer_rebound(rebound)), self.names.fresh,
            tuple((self.names(n), kind) for n in reads if isinstance(kind := type_of(n), TensorType)),
            tuple(map(type_of, results)), lambda lines: self.definitions.append(list(lines)),
        )  # fmt: skip
        return made.write(block)

    def _outer_rebound(self, rebound: Mapping[fx.Node, fx.Node]) -> list[str]:
        return [self.names(n) for n in dict.fromkeys(rebound.values()) if n.op == "get_attr"]

    def _node(self, node: fx.Node) -> list[str]:
        if op_of(node) == "python":
            return textwrap.dedent(source_of(node)).strip("\n").rstrip().splitlines()
        spelled = effects.spell_builtin(node, self.names) or spell(node, self.names, self.book)
        if spelled.rebinds:
            self.rebound[node] = node.args[0]  # type: ignore[assignment]
        if spelled.statement:
            return [spelled.text] + ([f"{node.name} = {spelled.value}"] if node.users else [])
        # In-place operators whose result nobody uses stand alone, as people write them, and what gives nothing.
        inplace = op_of(node).endswith("_") and not op_of(node).endswith("__")
        if not node.users and (inplace or spelled.value == "effect" or isinstance(type_of(node), NoneType)):
            return [spelled.text]
        return [f"{node.name} = {spelled.text}"]
