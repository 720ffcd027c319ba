"""Reading rule files: text to `Rule`s. Every error names file, line, column and what was expected."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import lark

from ..errors import RuleError
from ..presence import files
from ..resources import data_dir
from .clauses import RuleReader
from .rule import Rule, RuleBook

_ANONYMOUS = {"_NL": "end of line", "NAME": "a name", "STRING": 'a "string"', "INT": "an integer", "FLOAT": "a float"}
_MANY = 8


@functools.lru_cache(maxsize=1)
def _parser() -> lark.Lark:
    text = (data_dir("grammar") / "rules.lark").read_text(encoding="utf-8")
    return lark.Lark(text, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def load_rules() -> RuleBook:
    """All rules of grammar/operators and of plug-ins. Raises RuleError for a file that cannot be read, for an operator
    with two rules."""
    rules: dict[str, Rule] = {}
    for path in files(data_dir("grammar") / "operators", "rules"):
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise RuleError(error.strerror or str(error), str(path)) from error
        except UnicodeDecodeError as error:
            raise RuleError("this is no text file", str(path)) from error
        for rule in load_text(text, path):
            if rule.op in rules:
                raise RuleError(f"operator {rule.op!r} already has a rule at {rules[rule.op].where}", rule.where)
            rules[rule.op] = rule
    return RuleBook(rules)


def load_text(text: str, path: Path) -> list[Rule]:
    """The rules in `text`, the content of the file at `path` (samplers are looked for beside it)."""
    try:
        tree = _parser().parse(text if text.endswith("\n") else text + "\n")
    except lark.exceptions.UnexpectedInput as error:
        where = f"{path.name}:{error.line}:{error.column}"
        raise RuleError(_found(error), where, f"expected {_expected(error)}") from None
    reader = RuleReader(text, path)
    return [rule for node in tree.children for rule in reader.rules(node)]


def _found(error: Any) -> str:
    if isinstance(error, lark.exceptions.UnexpectedToken):
        token = error.token
        if token.type in ("_NL", "$END"):
            return "unexpected end of line" if token.type == "_NL" else "unexpected end of file"
        return f"unexpected {str(token)!r}"
    return f"unexpected character {error.char!r}"


def _expected(error: Any) -> str:
    names = getattr(error, "accepts", None) or getattr(error, "expected", None) or getattr(error, "allowed", None) or ()
    words = sorted({_word(name) for name in names})
    return ", ".join(words[:_MANY]) + (", ..." if len(words) > _MANY else "")


def _word(name: str) -> str:
    """A terminal as people write it."""
    if name in _ANONYMOUS:
        return _ANONYMOUS[name]
    for terminal in _parser().terminals:
        if terminal.name == name and terminal.pattern.type == "str":
            return f"'{terminal.pattern.value}'"
    return name.lower()
