"""Reduces Python source while a test holds: statements first, then what statements are wrapped in, then expressions.

It knows Python's syntax and nothing of what the test asks. What comes out is what `ast.unparse` writes: comments and
spacing go with the first success.
"""

from __future__ import annotations

import ast
import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

BODIES = ("body", "orelse", "finalbody")
# Trials, each of which may cost seconds: what statements alone need for a file of some hundred lines.
MOST = 1000

Test = Callable[[str], bool]
# A place in a tree that outlives a copy of it: (field, index or None) from the root down.
Place = tuple[tuple[str, int | None], ...]


@dataclass
class Reduced:
    """`trials`: how often the test was asked. `complete`: whether nothing is left that a single step could take."""

    text: str
    trials: int = 0
    complete: bool = True


def reduce_source(text: str, test: Test, most: int = MOST, seconds: float = math.inf) -> Reduced:
    """The smallest source found for which `test` holds, within `most` trials and `seconds`. It must hold for `text`,
    and is not asked about it; it is never asked twice about one source. Raises SyntaxError where `text` is no Python.
    """
    search = _Search(test, most, time.monotonic() + seconds, Reduced(text), ast.parse(text))
    try:
        while search.statements() | search.wrappers() | search.expressions():
            pass
    except _OutOfBudget:
        search.found.complete = False
    return search.found


class _OutOfBudget(Exception):
    pass


@dataclass
class _Search:
    """One commit point, `attempt`, holds the cache, the count and the adoption of what the test lets pass."""

    test: Test
    most: int
    until: float
    found: Reduced
    tree: ast.Module
    seen: set[str] = field(default_factory=set)

    def attempt(self, tree: ast.Module) -> bool:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if text in self.seen or _size(tree) >= _size(self.tree):
            return False
        self.seen.add(text)
        if self.found.trials >= self.most or time.monotonic() >= self.until:
            raise _OutOfBudget
        self.found.trials += 1
        if not self.test(text):
            return False
        self.found.text, self.tree = text, tree
        return True

    def statements(self) -> bool:
        """ddmin over each list of statements, outer ones before those inside."""
        reduced, done = False, 0
        while True:
            places = list(_bodies(self.tree))
            if done >= len(places):
                return reduced
            reduced |= self._ddmin(places[done])
            done += 1

    def _ddmin(self, place: Place) -> bool:
        """Take out runs of statements, half of the list at a time, then quarters, down to single ones."""
        reduced = False
        size = len(_at(self.tree, place))
        while size >= 1:
            start = len(_at(self.tree, place)) - size
            while start > -size:  # from the end: what comes late depends on what comes early
                if self._without(place, max(start, 0), start + size):
                    reduced = True
                start -= size
            size //= 2
        return reduced

    def _without(self, place: Place, start: int, end: int) -> bool:
        tree = copy.deepcopy(self.tree)
        body = _at(tree, place)
        del body[start:end]
        if not body and len(place) > 1 and place[-1][0] == "body":
            body.append(ast.Pass())
        return self.attempt(tree)

    def wrappers(self) -> bool:
        """Replace a compound statement by what it holds, and take decorators away."""
        return self._each(_unwrapped)

    def expressions(self) -> bool:
        """Replace an expression by one of its operands, and leave out arguments and items."""
        return self._each(_simpler)

    def _each(self, edits: Callable[[ast.AST], Iterator[Callable[[ast.AST], ast.AST | list[ast.stmt]]]]) -> bool:
        """Try every edit of every node, outer ones first; after a success go on with what is there then."""
        reduced, index = False, 0
        while True:
            places = list(_places(self.tree))
            if index >= len(places):
                return reduced
            for edit in edits(_at(self.tree, places[index])):
                tree = copy.deepcopy(self.tree)
                _put(tree, places[index], edit(_at(tree, places[index])))
                if self.attempt(tree):
                    reduced = True
                    break
            else:
                index += 1


def _size(tree: ast.AST) -> int:
    return sum(1 for _ in ast.walk(tree))


def _bodies(tree: ast.AST) -> Iterator[Place]:
    """Places of all lists of statements."""
    lists = [()] if isinstance(tree, ast.Module) else []
    for place in [*lists, *_places(tree)]:
        node = _at(tree, place)
        for name in BODIES:
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield (*place, (name, None))


def _places(tree: ast.AST, here: Place = ()) -> Iterator[Place]:
    """Places of all statements and expressions that are read, outer ones first."""
    for name, value in ast.iter_fields(tree):
        items = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, item in items:
            if isinstance(item, ast.AST):
                place = (*here, (name, index))
                if isinstance(item, ast.stmt | ast.expr | ast.ExceptHandler | ast.withitem):
                    yield place
                yield from _places(item, place)


def _at(tree: ast.AST, place: Place) -> Any:
    found: Any = tree
    for name, index in place:
        found = getattr(found, name)
        if index is not None:
            found = found[index]
    return found


def _put(tree: ast.AST, place: Place, new: ast.AST | list[ast.stmt]) -> None:
    *above, (name, index) = place
    parent = _at(tree, tuple(above))
    if index is None:
        setattr(parent, name, new)
    else:
        items = getattr(parent, name)
        items[index : index + 1] = new if isinstance(new, list) else [new]


def _unwrapped(node: ast.AST) -> Iterator[Callable]:
    """Statements in the place of one: the bodies of a compound statement."""
    if isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try):
        for name in BODIES:
            if getattr(node, name, []):
                yield lambda n, name=name: getattr(n, name)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        for i in range(len(node.decorator_list)):
            yield lambda n, i=i: _less(n, "decorator_list", i)


def _simpler(node: ast.AST) -> Iterator[Callable]:
    """Expressions in the place of one: its operands, or itself with less."""
    if isinstance(node, ast.Assign):
        yield lambda n: ast.Expr(n.value)
    if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return
    for name in ("left", "right", "operand", "value", "body", "orelse"):
        if isinstance(getattr(node, name, None), ast.expr) and not isinstance(node, ast.Lambda | ast.keyword):
            yield lambda n, name=name: getattr(n, name)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield lambda n: n.func.value
        for i in range(len(node.args)):
            yield lambda n, i=i: n.args[i]
        for i in range(len(node.keywords)):
            yield lambda n, i=i: _less(n, "keywords", i)
        for i in reversed(range(len(node.args))):
            yield lambda n, i=i: _less(n, "args", i)
    if isinstance(node, ast.Tuple | ast.List):
        for i in range(len(node.elts)):
            yield lambda n, i=i: n.elts[i]
        for i in reversed(range(len(node.elts))):
            yield lambda n, i=i: _less(n, "elts", i)


def _less(node: ast.AST, name: str, index: int) -> ast.AST:
    del getattr(node, name)[index]
    return node
