"""One operator node as Python: an expression, or a statement after which the result is the first operand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch.fx as fx

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
    method = key == "method" or (op.startswith("Tensor.") and key != "function")
    texts = [literal(a, name) for a in args] + [f"{k}={literal(v, name)}" for k, v in kwargs.items()]
    if method and args and isinstance(args[0], fx.Node):
        return f"{texts[0]}.{op.rpartition('.')[2]}({', '.join(texts[1:])})"
    return f"torch.{op}({', '.join(texts)})"


def _by_template(template: str, args: tuple[Any, ...], name: Namer) -> Spelled:
    def fill(match: re.Match[str]) -> str:
        value = args[int(match[1])]
        if template[: match.start()].endswith("["):
            return index_text(value, name)
        text = literal(value, name)
        # `-1 ** x` and `1.real` mean something else, and `1 + 2j` binds less tightly than `*`.
        bare = isinstance(value, fx.Node | tuple | list | dict | str) or re.fullmatch(r"\d+", text)
        return text if (bare and not template.startswith("{0}.")) or re.fullmatch(r"\w+", text) else f"({text})"

    text = re.sub(r"\{(\d+)\}", fill, template)
    if not re.search(r"(<<|>>|[^=!<>])=(?!=)", template):
        return Spelled(text)
    rebinds = "[" not in template.partition("=")[0]
    return Spelled(text, True, literal(args[0], name), rebinds)
