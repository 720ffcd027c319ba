"""A function that the script calls becomes the forward of a module; the constants that it reads, its parameters and
buffers. Or a closure, whose variables they are."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import torch.fx as fx
from torch.fx.node import map_arg

from ..ir.builder import FunctionBuilder, Rejected
from ..ir.program import Closure, Function, Program, Ref
from . import mutator
from ._edit import Edit, attempt
from .tools import Tools

KINDS = (("module", ()), ("module", ()), ("module", ("eval",)), ("closure", ()))


@mutator("make_module", weight=0.4)
class MakeModule:
    def mutate(self, program: Program, rng: Random, tools: Tools) -> Program | None:
        return attempt(program, rng, tools, self._change)

    def _change(self, edit: Edit, rng: Random) -> bool:
        called = {call.function for call in edit.program.calls}
        found = [f for f in edit.program.functions if f.name in called and not f.captures and edit.is_alone(f.name)]
        if not found:
            raise Rejected("no function that only the script calls")
        function = rng.choice(found)
        kind, args = rng.choice(KINDS)
        shared = {s.view_of for s in edit.b.constants} | {s.name for s in edit.b.constants if s.view_of}
        held = {s.name for s in edit.b.constants} - shared
        made = captured(function, held)
        if kind == "closure" and not made.captures:
            raise Rejected("nothing to capture")
        edit.b.functions[function.name] = FunctionBuilder(edit.b, made)
        name = edit.b.fresh_name("m")
        edit.b.add_closure(Closure(name, function.name, tuple((c, Ref(c)) for c in made.captures), kind, args))
        edit.b.calls = [replace(c, function=name) if c.function == function.name else c for c in edit.b.calls]
        return True


def captured(function: Function, names: set[str]) -> Function:
    """The function with captures, of the same names, in place of what it reads outside of `names`."""
    graph = fx.Graph()
    reads = [n for n in function.graph.nodes if n.op == "get_attr" and str(n.target) in names]
    mine: dict[fx.Node, fx.Node] = {}
    for node in reads:
        mine[node] = graph.placeholder(node.name)
        mine[node].meta["type"] = node.meta["type"]
    for node in function.graph.nodes:
        if node.op == "output":
            graph.output(map_arg(node.args[0], mine.__getitem__))
        elif node not in mine:
            mine[node] = graph.node_copy(node, mine.__getitem__)
    return Function(function.name, graph, tuple(n.name for n in reads), function.regions)
