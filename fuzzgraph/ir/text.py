"""The text form of programs (`.fg`): `parse` and `format` are inverse to each other.

The language is defined in `grammar/program.lark`. Errors name file, line, column, node and what was expected.
"""

from __future__ import annotations

import functools

import lark

from ..errors import ProgramError
from ..resources import data_dir
from .builder import Builder, Check
from .format import format
from .infer import Inference
from .program import Program
from .read import Reader

__all__ = ["format", "parse", "parse_file"]

# How terminals are called in messages.
_PLAIN = {
    "NAME": "a name", "INT": "a whole number", "FLOAT": "a number", "STRING": "a string", "DOTTED": "a dotted name",
    "LONG_STRING": 'a """ block', "$END": "the end of the file", "LPAR": "'('", "RPAR": "')'", "LBRACE": "'{'",
    "RBRACE": "'}'", "LSQB": "'['", "RSQB": "']'", "COLON": "':'", "COMMA": "','", "EQUAL": "'='", "PLUS": "'+'",
    "__ANON_0": "'...'", "FUZZGRAPH": "'fuzzgraph 1'",
}  # fmt: skip


def parse(text: str, infer: Inference | None = None, check: Check | None = None, file: str = "<string>") -> Program:
    """The program that a text says.

    Without `infer` every node needs its type in the text, and is trusted to be right. With it, types are inferred and
    may be left out; a written type that contradicts the inferred dtype or shape is an error. `check` is the grammar's
    judgement of calls. Raises ProgramError.
    """
    try:
        tree = _parser().parse(text)
    except lark.UnexpectedInput as e:
        raise _syntax_error(e, text, file) from None
    try:
        return Reader(Builder(infer, check), file).program(tree)
    except RecursionError:
        raise ProgramError("values or types are nested too deeply", where=file) from None


def parse_file(path: str, infer: Inference | None = None, check: Check | None = None) -> Program:
    """`parse` of a file. Raises ProgramError where it cannot be read."""
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    except (OSError, UnicodeDecodeError) as e:
        raise ProgramError(f"cannot read: {getattr(e, 'strerror', None) or e}", where=str(path)) from None
    return parse(text, infer, check, file=str(path))


@functools.cache
def _parser() -> lark.Lark:
    source = (data_dir("grammar") / "program.lark").read_text()
    return lark.Lark(source, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _syntax_error(e: lark.UnexpectedInput, text: str, file: str) -> ProgramError:
    # `accepts` tells what may really follow; `expected` counts other contexts of the same parser state, too.
    expected = getattr(e, "accepts", None) or getattr(e, "expected", None) or getattr(e, "allowed", None) or ()
    words = ", ".join(sorted({_PLAIN.get(x, x.lower()) for x in expected if x in _PLAIN or not x.startswith("__")}))
    token = getattr(e, "token", None)
    if token is not None and token.type == "$END":
        lines = text.splitlines() or [""]
        line, column, found = len(lines), len(lines[-1]) + 1, "the end of the file"
    else:
        line, column = e.line, e.column
        rest = (text.splitlines() or [""])[line - 1][column - 1 :]
        found = repr(str(token)) if token is not None else repr(rest[:12])
    return ProgramError(f"found {found}, expected {words or 'something else'}", where=f"{file}:{line}:{column}")


