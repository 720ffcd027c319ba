"""Program to one Python module."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ir.builtins import LATE_MODULES
from ..ir.program import Program
from ..ir.typing import operands
from . import inputs, quote
from .contexts import context_text, option_contexts
from .definitions import Definitions
from .forms import Form, indented, load_forms
from .instances import load_instances
from .literals import literal, wrapped
from .names import Names

if TYPE_CHECKING:
    from ..grammar import RuleBook


@dataclass(frozen=True)
class Rendered:
    """A module's source and, per call of the script, the names of the nodes in its result, in flattened order."""

    source: str
    outputs: tuple[tuple[str, ...], ...]


def render(program: Program, book: RuleBook | None = None, forms: Mapping[str, Form] | None = None) -> Rendered:
    """The program as a Python module that imports torch, and of Python's own modules what it calls.

    The module defines `make_inputs()`, the functions, `run(wrap, inputs)`; `get_states()` for a program with states or
    modules, and `get_gradients()` where backward reaches constants or modules. `book` knows the operators' spellings;
    without it all are written plainly. Equal programs give equal sources. Raises ProgramError for what cannot be
    written.
    """
    parts = module_parts(program, book, load_forms() if forms is None else forms)
    own = [f"import {name}\n" for name in python_modules(parts)]
    head = "".join([*own, "\n" if own else "", *(f"import {name}\n" for name in ("torch", *torch_modules(parts)))])
    return Rendered(head + "\n\n" + "\n\n\n".join(parts) + "\n", outputs_of(program))


def python_modules(parts: Sequence[str]) -> list[str]:
    """Python's own modules of which the parts call functions."""
    text = "\n".join(parts)
    return [name for name in ("math", "operator") if re.search(rf"(?<![\w.]){name}\.\w+\(", text)]


def torch_modules(parts: Sequence[str]) -> list[str]:
    """Those of torch's modules that the parts call functions of and `import torch` does not import."""
    return [f"torch.{name}" for name in LATE_MODULES if any(f"torch.{name}." in part for part in parts)]


def module_parts(
    program: Program, book: RuleBook | None, forms: Mapping[str, Form], reserved: frozenset[str] = frozenset(),
    options_in_run: bool = False,
) -> list[str]:  # fmt: skip
    """The definitions of the module in order, each without blank lines around it.

    `options_in_run`: the contexts that run options ask for are blocks of `run`, too. In a campaign the harness enters
    them, since its float64 reference must leave autocast out.
    """
    names = Names(program, reserved)
    definitions = Definitions(program, names, book, forms)
    functions = definitions.parts()
    makers = inputs.InputWriter(program, names, definitions)
    if makers.closures_at_module_level:
        functions.append("\n".join(makers.closures_at_module_level))
    script = ["\n".join(makers.lines()), "\n".join(_run(program, names, options_in_run))]
    if has_states(program):
        script.append(_get_states(program, names, definitions.modules))
    if has_gradients(program):
        script.append(_get_gradients(program, names, definitions.modules))
    return [*functions, *_helpers([*functions, *script]), *script]


def has_states(program: Program) -> bool:
    """Whether the module defines `get_states`: calls may leave something behind outside the inputs."""
    return bool(program.states) or _has_modules(program)


def has_gradients(program: Program) -> bool:
    """Whether the module defines `get_gradients`: backward leaves something behind outside the inputs."""
    return program.options.grad and (any(s.type.requires_grad for s in program.constants) or _has_modules(program))


def _has_modules(program: Program) -> bool:
    kinds = load_instances()
    layers = any(s.kind == "layer" for s in program.states)
    return layers or any(c.kind in kinds and kinds[c.kind].is_module for c in program.closures)


def outputs_of(program: Program) -> tuple[tuple[str, ...], ...]:
    found = []
    for call in program.calls:
        found.append(tuple(n.name for n in operands(program.function(call.function).result)))
    return tuple(found)


def _helpers(parts: list[str]) -> list[str]:
    """The helpers that the parts call, in alphabetical order."""
    used = set(re.findall(r"(?<![\w.])(\w+)\(", "\n".join(parts)))
    return [quote.source(name) for name in sorted(quote.names()) if name in used]


def _run(program: Program, names: Names, options_in_run: bool) -> list[str]:
    lines: list[str] = []
    wrapped: dict[str, str] = {}
    alone = len(program.calls) == 1
    keys = frozenset(s.name for s in program.inputs)
    outer = option_contexts(program.options) if options_in_run else ()
    device = program.inputs[0].type.device.split(":")[0] if program.inputs else "cpu"
    for call in program.calls:
        function = names.outer[call.function]
        target = function if call.plain else f"wrap({function})"
        if not alone and not call.plain:
            if call.function not in wrapped:
                wrapped[call.function] = names.fresh(f"wrapped_{function}")
            if call.fresh or f"{wrapped[call.function]} = {target}" not in lines:
                lines.append(f"{wrapped[call.function]} = {target}")
            target = wrapped[call.function]
        made = f"{target}({', '.join(_argument(a, names, keys) for a in call.args)})"
        body = [f"return [{made}]" if alone else f"results.append({made})"]
        if call.result and not alone:
            body = [f"{names.outer[call.result]} = {made}", f"results.append({names.outer[call.result]})"]
        contexts = [context_text(c, device) for c in (*outer, *call.contexts)]
        if contexts:
            body = [f"with {', '.join(contexts)}:", *indented(body)]
        lines += body
    if not alone:
        lines = ["results = []", *lines, "return results"]
    return ["def run(wrap, inputs):", *indented(lines)]


def _argument(value: object, names: Names, inputs: frozenset[str]) -> str:
    # Keys of the dictionary of inputs are the program's own names; constants and states are globals.
    return literal(value, lambda ref: f'inputs["{ref.name}"]' if ref.name in inputs else names(ref))


def _get_states(program: Program, names: Names, modules: Sequence[str]) -> str:
    def reading(kind: str, name: str) -> str:
        if kind == "class":
            return f'{{k: v for k, v in vars({name}).items() if not k.startswith("__")}}'
        return f"vars({name})" if kind == "object" else name

    items = [f'"{s.name}": {reading(s.kind, names.outer[s.name])}' for s in program.states if s.kind != "layer"]
    items += [f'"{name}": dict({name}.state_dict())' for name in modules]
    return "\n".join(["def get_states():", *indented(wrapped("return {", items, "}").splitlines())])


def _get_gradients(program: Program, names: Names, modules: Sequence[str]) -> str:
    constants = [names.outer[s.name] for s in program.constants if s.type.requires_grad]
    items = [f'"{name}": {name}.grad' for name in constants]
    items += [f'**{{f"{name}.{{k}}": p.grad for k, p in {name}.named_parameters()}}' for name in modules]
    return "\n".join(["def get_gradients():", *indented(wrapped("return {", items, "}").splitlines())])
