"""Reads a Python file and makes of it what the harness runs.

A file has one of three forms: `make_inputs()` (or `make_inputs_seq()`) with `f(*args)`; the same with `make_fn()`,
which makes a fresh module or closure; `scenario(wrap)`. Whatever else is a script, which calls torch.compile itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from fuzzgraph.errors import UsageError
from fuzzgraph.execution.protocol import Job

FUNCTION, SCENARIO, SCRIPT = "function", "scenario", "script"
# What a file says of itself that the engine acts on; the rest the adapter reads where the file runs.
FACTS: dict[str, Any] = {"SIGNBIT": False, "CHECK_VALUES": True, "FP64": True}
# Oracles whose plans are further programs, made from one of ours.
OTHERS = ("equivalence", "guard")


@dataclass(frozen=True)
class Checked:
    """A file as the harness runs it: `text` is what it holds, `source` that and an adapter."""

    path: str
    form: str
    text: str
    source: str
    facts: dict[str, Any] = field(default_factory=dict)

    def job(self, id: str, target: str, timeout: float) -> Job:
        """All oracles. Files that raise in eager count: the compiled code must then raise too."""
        options: dict[str, Any] = {"float64": bool(self.facts["FP64"])}
        if self.form != SCRIPT:
            options["file"] = self.path
        return Job(
            id=id, source=self.source, target=target, options=options, plans=plans(self), timeout=timeout,
            expects_error=True,
        )  # fmt: skip


def plans(checked: Checked) -> dict[str, Any]:
    """What each oracle looks at. A file is no program of ours, so that nothing is known of what it computes."""
    from fuzzgraph import oracles

    found: dict[str, Any] = {name: {} for name in oracles.names() if name not in OTHERS}
    found["missed_error"] = {"exact": True}
    if not checked.facts["CHECK_VALUES"]:
        del found["value"]
    if checked.form != FUNCTION:  # tensors that it makes itself have values, which FakeTensors lack
        del found["fake"]
    return found


def load(path: str | Path) -> Checked:
    """Raises UsageError as `text_of` and `read` do."""
    return read(text_of(path), str(path))


def text_of(path: str | Path) -> str:
    """What a Python file holds. Raises UsageError where it is none, or cannot be read."""
    file = Path(path)
    if file.suffix == ".fg":
        raise UsageError("this is no Python file", where=str(path), hint="`fuzzgraph run` takes programs")
    try:
        # As Python reads it: editors of other systems put a mark at the start.
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(error.strerror or str(error), where=str(path)) from error
    except UnicodeDecodeError as error:
        raise UsageError("this is no text file", where=str(path), hint="check takes Python files") from error


def read(text: str, path: str) -> Checked:
    """A file by its content. Raises UsageError where that is no Python, has two forms, or has none and does not compile
    anything."""
    try:
        tree = ast.parse(text, filename=path)
        form = form_of(tree, path)
    except SyntaxError as error:
        raise UsageError(f"no Python: {error.msg}", where=f"{path}:{error.lineno or 1}") from error
    except ValueError as error:
        raise UsageError(f"no Python: {error}", where=path) from error
    except (RecursionError, MemoryError):  # the second is what Python's parser says
        raise UsageError("nested too deeply", where=path) from None
    facts = {**FACTS, **{name: value for name, value in constants(tree).items() if name in FACTS}}
    full = str(Path(path).resolve())
    if form != SCRIPT:
        return Checked(full, form, text, text.rstrip() + "\n\n\n" + adapter(form), facts)
    given = adapter(form).replace('"FILE", "TEXT"', f"{full!r}, {text!r}")
    return Checked(full, form, text, given, facts)


def form_of(tree: ast.Module, path: str) -> str:
    """The form of a file, by the names that it defines."""
    names = set(bound(tree.body))
    inputs = bool(names & {"make_inputs", "make_inputs_seq"})
    forms = [f for f in ("f", "make_fn") if f in names and inputs] + ["scenario"] * ("scenario" in names)
    if len(forms) > 1:
        raise UsageError(f"defines {' and '.join(forms)}: which is to be checked?", where=path, hint="keep one")
    if forms:
        return SCENARIO if forms[0] == "scenario" else FUNCTION
    if inputs:
        raise UsageError("has make_inputs, but neither f nor make_fn", where=path)
    if "make_fn" in names:
        raise UsageError("has make_fn, but no make_inputs", where=path)
    if not compiles(tree):
        hint = "it needs make_inputs and f or make_fn, or scenario, or to call torch.compile"
        raise UsageError("nothing to check in this file", where=path, hint=hint)
    return SCRIPT


def bound(body: list[ast.stmt]) -> Iterator[str]:
    """Names that statements bind, those in branches included."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            yield statement.name
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                yield alias.asname or alias.name.partition(".")[0]
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
        else:
            for part in ("body", "orelse", "finalbody"):
                yield from bound(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from bound(handler.body)


def constants(tree: ast.Module) -> dict[str, Any]:
    """Names that the file sets to a constant, with it."""
    found = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    found[target.id] = statement.value.value
    return found


def compiles(tree: ast.Module) -> bool:
    """Whether a script may call torch.compile: by that name, as a module's method, or by its older one."""
    used = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    used |= {a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    return bool(used & {"compile", "optimize"})


def adapter(form: str) -> str:
    """What drives a file of that form."""
    parts = [form] if form == SCRIPT else ["portraits", form]
    folder = resources.files(f"{__package__}.adapters")
    return "\n\n".join(folder.joinpath(f"{part}.py").read_text(encoding="utf-8") for part in parts)
