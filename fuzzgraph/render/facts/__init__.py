"""Facts about Python: functions without parameters that give True, whatever compiles them.

Each file in this folder is plain Python. A fact is a function at its top level that takes nothing and gives a `bool`;
what else stands there, classes above all, is there for the facts to use. `facts()` has them by name. A program is
called several times: a fact holds however often it ran before.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Fact:
    """A fact and what it needs of its file: `parts` are imports, definitions and assignments in their order, itself the
    last, without annotations; `names` are those that they define."""

    name: str
    parts: tuple[ast.stmt, ...]
    names: tuple[str, ...]

    def written(self, fresh: Callable[[str], str]) -> tuple[list[str], str]:
        """Lines for module level, in which each name is what `fresh(name)` makes of it, and the new name of the
        fact's function."""
        renamed = {name: fresh(name) for name in self.names}
        lines: list[str] = []
        for part in self.parts:
            written = _Renamed(renamed).visit(copy.deepcopy(part))  # facts share what their file defines
            lines += [*([""] if lines else []), *ast.unparse(written).splitlines()]
        return lines, renamed[self.name]


@functools.cache
def facts() -> Mapping[str, Fact]:
    """All facts by name, in the order of files and lines. Raises ValueError where two have one name."""
    found: dict[str, Fact] = {}
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        for fact in _facts_of(ast.parse(path.read_text(encoding="utf-8"))):
            if fact.name in found:
                raise ValueError(f"{path}: there is another fact of the name {fact.name}")
            found[fact.name] = fact
    return found


def _facts_of(module: ast.Module) -> Iterable[Fact]:
    stated = {node.name for node in module.body if isinstance(node, ast.FunctionDef) and _is_fact(node)}
    top = [_bare(part) for node in module.body[1:] for part in _single(node)]
    where: dict[str, list[ast.stmt]] = {}
    for node in top:
        for name in _defined(node):
            where.setdefault(name, []).append(node)
    for node in top:
        if isinstance(node, ast.FunctionDef) and node.name in stated:
            needed = _needed(node, where)
            kept = [n for n in top if n in needed]
            names = [name for n in kept if not isinstance(n, ast.Import | ast.ImportFrom) for name in _defined(n)]
            yield Fact(node.name, tuple(kept), tuple(dict.fromkeys(names)))


def _is_fact(node: ast.FunctionDef) -> bool:
    return not ast.unparse(node.args) and isinstance(node.returns, ast.Name) and node.returns.id == "bool"


def _single(node: ast.stmt) -> Iterable[ast.stmt]:
    """An import of several names as one of each, so that a fact takes those only that it uses."""
    if isinstance(node, ast.Import):
        return [ast.Import([alias]) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [ast.ImportFrom(node.module, [alias], node.level) for alias in node.names]
    return [node]


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    if isinstance(node, ast.Assign):
        return [n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []


def _needed(node: ast.stmt, where: Mapping[str, list[ast.stmt]]) -> set[ast.stmt]:
    """The definitions, imports and assignments that a definition uses, what those use, and itself."""
    found, left = {node}, [node]
    while left:
        used = {n.id for n in ast.walk(left.pop()) if isinstance(n, ast.Name)}
        more = {part for name in used & where.keys() for part in where[name]} - found
        found |= more
        left += more
    return found


def _bare(node: ast.stmt) -> ast.stmt:
    """Without annotations, but for those of fields, which data classes read."""
    if isinstance(node, ast.AnnAssign):
        return _assigned(node)
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef):
            inner.returns = None
            inner.body = [_assigned(s) if isinstance(s, ast.AnnAssign) else s for s in inner.body]
        elif isinstance(inner, ast.arg):
            inner.annotation = None
    return node


def _assigned(node: ast.AnnAssign) -> ast.stmt:
    if node.value is None:
        return ast.Pass()
    return ast.copy_location(ast.Assign([node.target], node.value), node)


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.Global:
        node.names = [self.names.get(name, name) for name in node.names]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._definition(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._definition(node)

    def _definition(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        if node.col_offset == 0:  # methods have names of their own
            node.name = self.names.get(node.name, node.name)
        return node
