"""One operator node as Python: an expression, or a statement after which the result is the first operand."""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch.fx as fx

from ..ir.builtins import APPLIED, is_attribute, is_python
from ..ir.program import op_of, spelling_of
from .literals import Namer, index_text, literal

if TYPE_CHECKING:
    from ..grammar import RuleBook

# Python's own syntax, known without a grammar.
_SYNTAX = {"subscript": "{0}[{1}]", "assign": "{0}[{1}] = {2}"}

@dataclass(frozen=True)
class Spelled:
    """`text` computes the call; with `statement` it is a statement and the value is then `value`."""

    text: str
    statement: bool = False
    value: str = ""
    # The statement binds its first operand anew (`a += b`).
    rebinds: bool = False


def spell(node: fx.Node, name: Namer, book: RuleBook | None) -> Spelled:
    """The node's call in its spelling; in the plain one where the spelling is unknown or does not fit."""
    op, key = op_of(node), spelling_of(node)
    args, kwargs = tuple(node.args), dict(node.kwargs)
    rule = book.rules.get(op) if book is not None else None
    template = (rule.spellings if rule is not None else _SYNTAX).get(key or "", "")
    if template and not kwargs and set(re.findall(r"\{(\d+)\}", template)) == {str(i) for i in range(len(args))}:
        return _by_template(template, args, name)
    if key == "keywords" and rule is not None:
        args, kwargs = _by_keyword(rule, args, kwargs)
    return Spelled(_plain_call(op, key, args, kwargs, name))


def _by_keyword(rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    from ..grammar.spelling import by_keyword

    return by_keyword(rule, args, kwargs)


def _plain_call(op: str, key: str | None, args: tuple[Any, ...], kwargs: dict[str, Any], name: Namer) -> str:
    if is_attribute(op) and isinstance(args[0], fx.Node):
        return f"{literal(args[0], name)}.{op.rpartition('.')[2]}"
    method = key == "method" or (op.startswith("Tensor.") and key != "function")
    texts = [literal(a, name) for a in args] + [f"{k}={literal(v, name)}" for k, v in kwargs.items()]
    if op.endswith(APPLIED):
        rest = texts[1 : len(args)]
        return f"torch.{op.removesuffix(APPLIED)}({', '.join([texts[0], *texts[len(args):]])})({', '.join(rest)})"
    if method and args and isinstance(args[0], fx.Node):
        return f"{texts[0]}.{op.rpartition('.')[2]}({', '.join(texts[1:])})"
    called = op.removeprefix("builtins.") if is_python(op) else f"torch.{op}"
    return f"{called}({', '.join(texts)})"


@functools.cache
def _statement(template: str) -> tuple[bool, bool]:
    """Whether a template is an assignment, and whether it binds a name (rather than an item of something)."""
    parsed = ast.parse(re.sub(r"\{(\d+)\}", r"place\1", template)).body[0]
    if isinstance(parsed, ast.Assign):
        return True, isinstance(parsed.targets[0], ast.Name)
    return isinstance(parsed, ast.AugAssign), isinstance(parsed, ast.AugAssign) and isinstance(parsed.target, ast.Name)


def _by_template(template: str, args: tuple[Any, ...], name: Namer) -> Spelled:
    statement, rebinds = _statement(template)

    def fill(match: re.Match[str]) -> str:
        value = args[int(match[1])]
        if template[: match.start()].endswith("["):
            return index_text(value, name)
        text = literal(value, name)
        # `-1 ** x` and `1.real` mean something else than they seem to.
        simple = isinstance(value, tuple | list | dict | str) or re.fullmatch(r"[\w.]+", text) or statement
        if isinstance(value, fx.Node) or (simple and not template[match.end() :].startswith(".")):
            return text
        return f"({text})"

    text = re.sub(r"\{(\d+)\}", fill, template)
    return Spelled(text, statement, literal(args[0], name) if statement else "", rebinds)
