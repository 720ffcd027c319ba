"""Names of a rendered module: the program's own where they are free, else with an underscore behind."""

from __future__ import annotations

import builtins
import keyword
from typing import Any

import torch.fx as fx

from ..ir.program import Program, Ref
from . import quote

# What the module itself, and the main of a standalone script, call things.
OWN = frozenset({
    "torch", "make_inputs", "run", "get_states", "get_gradients", "wrap", "inputs", "results", "sys", "subprocess",
    "math", "operator",
})  # fmt: skip


class Names:
    """Maps what a program calls things outside its functions to names of the module; local names stay."""

    def __init__(self, program: Program, reserved: frozenset[str] = frozenset()) -> None:
        self._taken = set(OWN | reserved | quote.names() | set(dir(builtins)) | set(keyword.kwlist))
        self._local = {n.name for f in program.functions for n in f.graph.nodes}
        self.outer: dict[str, str] = {}
        # Functions with captures go by what makes their instances.
        self.factories: dict[str, str] = {}
        groups = (program.inputs, program.constants, program.states, program.functions, program.closures)
        for item in (i for group in groups for i in group):
            self.outer[item.name] = item.name if item.name not in self._taken else self.fresh(item.name + "_")
            self._taken.add(self.outer[item.name])
        for result in (call.result for call in program.calls if call.result):
            self.outer[result] = self.fresh(result)

    def fresh(self, stem: str) -> str:
        """A made-up name that nothing in or outside the functions has."""
        name, number = stem, 1
        while name in self._taken or name in self._local:
            name, number = f"{stem}{number}", number + 1
        self._taken.add(name)
        return name

    def __call__(self, value: Any) -> str:
        """The name of a node, or of what a Ref or a reading node reads outside."""
        if isinstance(value, Ref):
            return self.outer.get(value.name, value.name)
        assert isinstance(value, fx.Node)
        target = str(value.target)
        return self.factories.get(target, self.outer[target]) if value.op == "get_attr" else value.name
