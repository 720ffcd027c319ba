"""What a proposed program must satisfy beyond the language's own rules, since a model wrote it.

The language can name any callable that torch reaches, `os.system` (torch imports os) and `load` included, and
holds verbatim Python. People and rules write only what they mean; a server may answer anything. So a proposal
may use the grammar's operators and harmless built-ins and nothing else, and that is settled before type
inference, which calls operators, sees it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any, Protocol

from ..errors import ProgramError
from ..ir import text as ir_text
from ..ir.builtins import BUILTINS
from ..ir.infer import Inference, Inferred
from ..ir.program import InputSpec, Program, TorchName, op_of
from ..ir.verify import verify
from .proposer import Refused

# A program that is larger is slow in every run, whatever it finds; real bugs need two operators.
MAX_NODES = 40
MAX_ELEMENTS = 1 << 22

# The operator of a statement, for texts that cannot be parsed.
STATEMENT = re.compile(r"^\s*\w+\s*(?::[^=\n]*)?=\s*([A-Za-z_][\w.]*)\(", re.MULTILINE)


class Book(Protocol):
    """What is used of `grammar.RuleBook`."""

    @property
    def rules(self) -> Mapping[str, Any]: ...

    def check(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None: ...


class Gate:
    """`parse` and `verify` of a Proposer: programs over the grammar's operators, typed by `infer`.

    `allow_python` admits verbatim source. `config` are the names of config patches that may occur: most of
    the compiler's settings change results or where files go.
    """

    def __init__(
        self, book: Book, infer: Inference, *, allow_python: bool = False, config: Container[str] = ()
    ) -> None:
        self._book, self._infer = book, infer
        self._config = config
        self._builtins = set(BUILTINS) - (set() if allow_python else {"python"})

    @property
    def operators(self) -> list[str]:
        """Names of the operators that a program may use, for the prompt."""
        return sorted(self._book.rules)

    def parse(self, text: str) -> Program:
        """The program of a text. Raises Refused with what is counted."""
        judge = _Judge(self._book, self._infer)
        try:
            program = ir_text.parse(text, judge, judge.check, "<proposal>")
        except ProgramError as error:
            raise Refused(judge.refused or self._kind(text), str(error)) from None
        self._operators(program)
        self._literals(program)
        self._size(program)
        for name, _ in program.options.config:
            if name not in self._config:
                raise Refused("config patch", name)
        return program

    def verify(self, program: Program) -> list[str]:
        return verify(program, self._book.check)

    def _kind(self, text: str) -> str:
        """Why a text was refused that came before no judge. For statistics only."""
        unknown = set(STATEMENT.findall(text)) - self._builtins - set(self._book.rules)
        return "unknown operator" if unknown and text.lstrip().startswith("fuzzgraph") else "syntax"

    def _operators(self, program: Program) -> None:
        for node in program.nodes():
            op = op_of(node)
            if op == "python" and op not in self._builtins:
                raise Refused("verbatim Python", node.name)
            if op not in self._builtins and op not in self._book.rules:
                raise Refused("unknown operator", op)

    def _literals(self, program: Program) -> None:
        """Names that lead from a harmless value to the interpreter, and torch names that are no operators."""
        values: list[Any] = [[n.args, n.kwargs] for n in program.nodes()]
        values += [[c.args, *(x.args for x in c.contexts)] for c in program.calls]
        values += [(c.bindings, c.args) for c in program.closures] + [s.initial for s in program.states]
        values += [r.args for f in program.functions for r in f.regions]
        values += [f.result for f in program.functions]
        while values:
            value = values.pop()
            if isinstance(value, tuple | list):
                values += value
            elif isinstance(value, dict):
                values += [*value, *value.values()]
            elif isinstance(value, str) and value.startswith("__"):
                raise Refused("forbidden name", value)
            elif isinstance(value, TorchName):
                name = value.path.removeprefix("torch.")
                if name not in self._book.rules and not (name.startswith("Tensor.") and name.count(".") == 1):
                    raise Refused("unknown operator", value.path)

    def _size(self, program: Program) -> None:
        elements = sum(max(s.type.extent, s.storage or 0, s.type.numel) for s in _specs(program))
        if program.size > MAX_NODES or elements > MAX_ELEMENTS:
            raise Refused("too large", f"{program.size} nodes, {elements} elements")


class _Judge:
    """Inference and the grammar's check for one text: no operator outside the grammar reaches inference.

    `refused` is the reason of the last refusal.
    """

    def __init__(self, book: Book, infer: Inference) -> None:
        self._book, self._infer = book, infer
        self.refused = ""

    def check(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        if op not in self._book.rules:
            self.refused = "unknown operator"
            return f"no rule for {op}"
        reason = self._book.check(op, args, kwargs)
        if reason:
            self.refused = "type error"
        return reason

    def infer(self, op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inferred:
        if op not in self._book.rules:
            self.refused = "unknown operator"
            return Inferred(None, f"no rule for {op}")
        inferred = self._infer.infer(op, args, kwargs)
        if inferred.type is None:
            self.refused = "type error"
        return inferred


def _specs(program: Program) -> tuple[InputSpec, ...]:
    return (*program.inputs, *program.constants)
