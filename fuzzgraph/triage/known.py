"""Known issues: bugs that are filed already. Findings that match one are counted, not reported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzgraph.errors import UsageError
from fuzzgraph.execution.protocol import Failure
from fuzzgraph.ir.program import Program
from fuzzgraph.resources import data_dir
from fuzzgraph.toml import read_toml

from .signature import core, form_set, input_dtypes, operator_set, signature

FILE = "known-issues.toml"
# Operators a program may have beside those that a predicate names: a larger one may well show another bug.
BESIDE = 2
_PATTERNS = ("signature", "message")
_TEXTS = {"link", "title", *_PATTERNS, "oracle", "kind", "variant", "program", "script"}
_LISTS = {"operators", "dtypes", "forms"}


@dataclass(frozen=True)
class Issue:
    """One entry. It matches by `signature` (a regular expression, searched in a finding's keys), by `message` (one that
    is searched in what the failure says) and by predicate: all of `operators` (at most BESIDE others), one of `dtypes`,
    all of `forms` (a form's name, then its arguments), `oracle`, `kind`, `variant` (of the guard oracle, by name);
    whatever is left out matches all.
    `program` (.fg text) or `script` (Python that exits 1 while the bug exists) let `fuzzgraph verify` say whether it is
    fixed."""

    name: str
    link: str
    title: str = ""
    signature: str = ""
    message: str = ""
    oracle: str = ""
    kind: str = ""
    variant: str = ""
    operators: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    program: str = ""
    script: str = ""

    def matches(self, failure: Failure, program: Program, keys: Iterable[str] = ()) -> bool:
        if self.oracle not in ("", failure.oracle) or self.kind not in ("", failure.kind):
            return False
        if self.variant not in ("", failure.variant) or not re.search(self.message, failure.message):
            return False
        if self.signature:
            texts = [signature(failure, program).text, core(failure), *keys]
            if not any(re.search(self.signature, text) for text in texts):
                return False
        if not set(self.forms) <= set(form_set(program)):
            return False
        if self.dtypes and not set(self.dtypes) & set(input_dtypes(program)):
            return False
        if not self.operators:
            return True
        have = set(operator_set(program))
        return set(self.operators) <= have and len(have) <= len(self.operators) + BESIDE


class KnownIssues:
    """Entries of several files, the first that matches counts."""

    def __init__(self, issues: Sequence[Issue] = ()) -> None:
        self.issues = tuple(issues)

    def find(self, failure: Failure, program: Program, keys: Iterable[str] = ()) -> Issue | None:
        return next((issue for issue in self.issues if issue.matches(failure, program, keys)), None)


def shipped() -> Path:
    return data_dir("corpus") / FILE


def load(paths: Sequence[Path] = (), with_shipped: bool = True) -> KnownIssues:
    """Users' files first. Raises UsageError naming file, entry and key."""
    files = [*paths, *([shipped()] if with_shipped else [])]
    return KnownIssues([issue for path in files for issue in read(path)])


def read(path: Path) -> list[Issue]:
    """A file has one table for each issue: `[issue.NAME]`."""
    data = read_toml(path)
    unknown = [key for key in data if key != "issue"]
    if unknown or not isinstance(data.get("issue", {}), dict):
        name = (unknown or ["issue"])[0]
        raise UsageError(f"unknown table {name!r}", where=str(path), hint="entries are [issue.NAME]")
    return [_issue(path, name, entry) for name, entry in data.get("issue", {}).items()]


def _issue(path: Path, name: str, entry: Any) -> Issue:
    where = f"{path}: issue.{name}"
    if not isinstance(entry, Mapping):
        raise UsageError("must be a table", where=where)
    for key, value in entry.items():
        if key in _TEXTS and isinstance(value, str):
            continue
        if key in _LISTS and isinstance(value, list) and all(isinstance(v, str) for v in value):
            continue
        if key in _TEXTS | _LISTS:
            raise UsageError(f"{key} must be {'a text' if key in _TEXTS else 'a list of texts'}", where=where)
        raise UsageError(f"unknown key {key!r}", where=where, hint=f"known: {', '.join(sorted(_TEXTS | _LISTS))}")
    if "link" not in entry:
        raise UsageError("lacks a link", where=where)
    if not any(entry.get(key) for key in (*_PATTERNS, "operators", "forms", "oracle")):
        hint = "give a signature, a message, operators, forms or an oracle"
        raise UsageError("matches everything", where=where, hint=hint)
    for key in _PATTERNS:
        try:
            re.compile(entry.get(key, ""))
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(f"{key} is no regular expression: {error}", where=where) from error
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    return Issue(name, **values)
