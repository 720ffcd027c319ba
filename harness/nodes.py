"""The first node whose value is wrong, in two steps.

1. The graph that Dynamo made and the graph that AOTAutograd, decompositions and joint passes made of it for Inductor
   are both interpreted; nodes are matched by `from_node`, torch's own record of where a node comes from.
2. Each beginning of that second graph, with its last node as the only result, is compiled by Inductor and held against
   its interpretation, each in a fork: any of them may kill its process. Where none is wrong, each is tried again with
   what the whole graph returns as results too, and what it leaves in its inputs is looked at: some bugs need an earlier
   value that is still wanted.

The program itself runs on with interpreted values, so nothing that is wrong here changes what comes after.
It cannot say anything of strides, of memory shared between results, of errors before Inductor, and of bugs that no
beginning of a graph shows by itself.
"""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx as fx

from ..execution.protocol import Job, Outcome
from ..oracles import _numeric as numeric
from ..oracles import crash
from . import forked
from .failures import error_info
from .program import FILE, Loaded, patched, run_once
from .runner import Context

# Graphs of Dynamo's, and nodes of one graph for Inductor, that are looked at: minimized programs have a few.
GRAPHS, NODES = 6, 60
# Calls of one graph that are looked at: with dynamic sizes a later one may be the first that is wrong.
CALLS = 4
LOW = (torch.float16, torch.bfloat16)
# Operators whose values are nobody's promise, besides those that torch tags as seeded.
CHANCE = ("aten::empty", "aten::new_empty", "prims::inductor_", "prims::empty")


@dataclass
class Lowered:
    """A graph for Inductor, with what it was to be compiled with and the arguments of its calls."""

    graph: fx.GraphModule
    examples: list[Any]
    kwargs: dict[str, Any]
    tracing: Any
    calls: list[list[Any]] = field(default_factory=list)


@dataclass
class Called:
    """One call of a graph of Dynamo's: its arguments and what it made of them. `shared`: they have memory in common."""

    inputs: list[Any]
    shared: bool
    left: list[Any] = field(default_factory=list)


@dataclass
class Piece:
    """A graph of Dynamo's, and those that were made of it: forward or inference first, then backward."""

    graph: fx.GraphModule
    calls: list[Called] = field(default_factory=list)
    lowered: list[Lowered] = field(default_factory=list)


def execute(job: Job, enter: Callable[[str], None], context: Context) -> Outcome:
    """`Outcome.report` has graph ("aot" or "inductor"), direction, node, operator, line (of the program) and what;
    where there is no answer it has `problem`, a sentence."""
    enter("subject")
    if context.hooks.compile_fx is None:
        return Outcome(job.id, "ok", report={"problem": "this torch has no compile_fx to ask"})
    pieces: list[Piece] = []
    loaded = Loaded.of(job.source, job.options)
    with patched(job.options.get("config") or {}):
        run = run_once(loaded, lambda function, **own: torch.compile(
            function, backend=_backend(pieces, context), **{**own, **_kwargs(job)}))  # fmt: skip
        if run.error is not None:
            problem = f"it ends before Inductor, with {type(run.error).__name__}"
            return Outcome(job.id, "ok", report={"problem": problem}, error=error_info(run.error))
        found = _search(pieces[:GRAPHS], context, job.search["limit"])
    return Outcome(job.id, "ok", report=found or {"problem": "no beginning of a graph shows it by itself"})


def _kwargs(job: Job) -> dict[str, Any]:
    return {k: job.options[k] for k in ("dynamic", "fullgraph") if job.options.get(k) is not None}


# Capturing


def _backend(pieces: list[Piece], context: Context) -> Callable[..., Any]:
    compile_fx = context.hooks.compile_fx

    def backend(gm: fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
        piece = Piece(_copied(gm))
        pieces.append(piece)

        def inner(graph: fx.GraphModule, examples: list[Any], **kwargs: Any) -> Callable[..., Any]:
            lowered = Lowered(_copied(graph), list(examples), kwargs, torch._guards.TracingContext.try_get())
            piece.lowered.append(lowered)
            return _interpreted(lowered)

        compiled = compile_fx.compile_fx(gm, examples, inner_compile=inner)

        def call(*inputs: Any) -> Any:
            if len(piece.calls) == CALLS:
                return compiled(*inputs)
            piece.calls.append(Called([_kept(value) for value in inputs], _share_memory(inputs)))
            result = compiled(*inputs)
            piece.calls[-1].left = [_kept(value) for value in inputs]
            return result

        return call

    return backend


def _interpreted(lowered: Lowered) -> Callable[..., Any]:
    """What stands for the compiled graph: AOTAutograd passes one list of arguments, which the callee empties."""

    def call(inputs: list[Any]) -> Any:
        if len(lowered.calls) < CALLS:
            lowered.calls.append([_kept(value) for value in inputs])
        given = list(inputs)
        inputs.clear()
        return fx.Interpreter(lowered.graph).run(*given)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def _copied(gm: fx.GraphModule) -> fx.GraphModule:
    return fx.GraphModule(gm, copy.deepcopy(gm.graph))


def _kept(value: Any) -> Any:
    """A tensor with memory of its own, laid out alike."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout != torch.strided:
        return value
    flat = value.detach().untyped_storage().clone()
    bare = torch.empty(0, dtype=value.dtype, device=value.device)
    kept = bare.set_(flat, value.storage_offset(), value.shape, value.stride())
    return kept.requires_grad_(value.requires_grad)


def _share_memory(values: Sequence[Any]) -> bool:
    plain = [v for v in values if isinstance(v, torch.Tensor) and v.layout == torch.strided]
    return len({v.untyped_storage()._cdata for v in plain}) < len(plain)


class _Recorder(fx.Interpreter):
    """Keeps each node's value as it was when it was made, and which node wrote to an input last. Runs on copies."""

    def __init__(self, graph: fx.GraphModule, inputs: list[Any]) -> None:
        super().__init__(graph)
        self.values: dict[str, torch.Tensor] = {}
        self.inputs = [_kept(value) for value in inputs]
        self.writers: dict[int, str] = {}  # position of an input -> node
        self._held = {i: _bytes(v).clone() for i, v in self._tensors()}
        self.run(*self.inputs)

    def run_node(self, n: fx.Node) -> Any:
        value = super().run_node(n)
        if n.op.startswith("call"):
            if isinstance(value, torch.Tensor):
                self.values[n.name] = _kept(value.detach())
            self._note_writes(n)
        return value

    def _note_writes(self, n: fx.Node) -> None:
        """By what is in memory: not every operator that writes counts versions, as batch_norm with its statistics."""
        for i, v in self._tensors():
            if not torch.equal(_bytes(v), self._held[i]):
                self._held[i] = _bytes(v).clone()
                self.writers[i] = n.name

    def _tensors(self) -> list[tuple[int, torch.Tensor]]:
        plain = (torch.Tensor, torch.nn.Parameter)
        return [(i, v) for i, v in enumerate(self.inputs) if type(v) in plain and v.layout == torch.strided]


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.detach().untyped_storage())


# Searching


def _search(pieces: list[Piece], context: Context, limit: float) -> dict[str, Any] | None:
    for piece in pieces:
        for i, lowered in enumerate(piece.lowered):
            if not lowered.calls:
                continue
            with torch.no_grad():
                ran = [_Recorder(lowered.graph, call) for call in lowered.calls]
            chance = _by_chance(lowered.graph)
            judged = [node for node in lowered.graph.graph.nodes if node not in chance]
            found = _before(piece, lowered, judged, ran) if i == 0 else None
            nodes = [node for node in judged if node.name in ran[0].values][:NODES]
            for together in (False, True):
                found = found or _after(lowered, nodes, context, limit, together)
            if found is not None:
                return {**found, "direction": "backward" if lowered.kwargs.get("is_backward") else "forward"}
    return None


def _by_chance(gm: fx.GraphModule) -> set[fx.Node]:
    """Nodes whose values are random, or memory that nobody wrote, and what is computed from them."""
    found: set[fx.Node] = set()
    for node in gm.graph.nodes:
        op = node.target
        seeded = isinstance(op, torch._ops.OpOverload) and (
            torch.Tag.nondeterministic_seeded in op.tags or op.name().startswith(CHANCE)
        )
        if seeded or not found.isdisjoint(node.all_input_nodes):
            found.add(node)
    return found


def _before(piece: Piece, lowered: Lowered, judged: list[fx.Node], ran: list[_Recorder]) -> dict[str, Any] | None:
    """The first node of Dynamo's graph that AOTAutograd's graph computes otherwise, or after which it leaves something
    else in an input (which is not asked where something is random: nobody knows what of it gets there)."""
    for called, recorder in zip(piece.calls, ran):
        values = recorder.values
        last = {_origin(node): values[node.name] for node in judged if node.name in values}
        expected = _Recorder(piece.graph, called.inputs)
        wrong = {} if len(judged) < len(lowered.graph.graph.nodes) else _inputs_left(expected, called)
        for node in piece.graph.graph.nodes:
            a, b = expected.values.get(node.name), last.get(node.name)
            if a is not None and b is not None and a.dtype == b.dtype and a.shape == b.shape:
                what = _difference(a, b)
                if what:
                    return _report("aot", node, what)
            if node.name in wrong:
                return _report("aot", node, wrong[node.name])
    return None


def _inputs_left(expected: _Recorder, called: Called) -> dict[str, str]:
    """What is wrong with inputs of Dynamo's graph after a call, by the node that wrote to them last. Where inputs share
    memory a write to one shows in others, which the recorder's copies do not know: no answer."""
    if len(called.left) != len(expected.inputs) or called.shared:
        return {}
    found = {}
    for i, name in expected.writers.items():
        a, b = expected.inputs[i], called.left[i]
        if isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape:
            what = _difference(a.detach(), b.detach())
            if what:
                found[name] = f"what it leaves in an input: {what}"
    return found


def _after(
    lowered: Lowered, nodes: list[fx.Node], context: Context, limit: float, together: bool
) -> dict[str, Any] | None:
    """The last node of the shortest beginning that Inductor compiles to something else, or not at all."""
    for node in nodes:
        def judge(node: fx.Node = node) -> dict[str, Any]:
            return {"what": _judged(lowered, node, context, together)}

        answer = forked.call(judge, limit)
        what = answer["what"] if isinstance(answer, dict) else f"the process ends: {answer}"
        if what:
            return _report("inductor", node, what)
    return None


def _judged(lowered: Lowered, last: fx.Node, context: Context, together: bool) -> str:
    """What is wrong with the compiled graph that ends with `last`; "" if nothing is. `together`: what the whole graph
    returns of this beginning are results too."""
    results = [*(_returned(lowered.graph, last) if together else ()), last]
    graph = _beginning(lowered.graph, last, results)
    theirs = [[_kept(value) for value in call] for call in lowered.calls]
    ours = [[_kept(value) for value in call] for call in lowered.calls]
    with torch.no_grad():
        expected = [fx.Interpreter(graph).run(*call) for call in theirs]
    low = any(isinstance(v, torch.Tensor) and v.dtype in LOW for v in (*ours[0], *expected[0]))
    emulate = {"inductor.emulate_precision_casts": True} if low and context.hooks.emulate_casts else {}
    try:
        with _traced(lowered), patched(emulate), torch.no_grad():
            compiled = context.hooks.compile_fx.compile_fx_inner(graph, lowered.examples, **lowered.kwargs)
            actual = [compiled(list(call)) for call in ours]
    except Exception as e:  # of the compiler or the compiled code: that is the answer
        raised = crash.failure(e)
        return f"{raised.exc_type}: {' '.join(raised.message.split())[:300]}"
    for number in range(len(ours)):
        what = _unlike(results, expected[number], actual[number])
        what = what or ("" if _by_chance(lowered.graph) else _unlike_left(theirs[number], ours[number]))
        if what:
            return f"in call {number} of this graph, {what}" if number else what
    return ""


def _returned(gm: fx.GraphModule, last: fx.Node) -> list[fx.Node]:
    """Tensors up to `last`, without it, that the graph returns and that can be compared."""
    nodes = list(gm.graph.nodes)
    made = {n for n in nodes[: nodes.index(last)] if n.op != "placeholder"}
    chance = _by_chance(gm)
    returned = gm.graph.output_node().all_input_nodes
    return [n for n in returned if n in made and n not in chance and isinstance(n.meta.get("val"), torch.Tensor)]


def _unlike(results: list[fx.Node], expected: Sequence[torch.Tensor], actual: Sequence[torch.Tensor]) -> str:
    """What is wrong with the first wrong result; the last one is the node in question."""
    for node, a, b in zip(results, expected, actual, strict=True):
        what = _told_apart(a, b)
        if what:
            return what if node is results[-1] else f"with it, {node.name} has another value: {what}"
    return ""


def _unlike_left(expected: Sequence[Any], actual: Sequence[Any]) -> str:
    for a, b in zip(expected, actual, strict=True):
        what = _told_apart(a, b) if isinstance(a, torch.Tensor) else ""
        if what:
            return f"what is left in an input: {what}"
    return ""


@contextlib.contextmanager
def _traced(lowered: Lowered) -> Iterator[None]:
    """As while it was compiled the first time: sizes may be symbols, which its tracing context knows."""
    with contextlib.ExitStack() as stack:
        if lowered.tracing is not None:
            stack.enter_context(torch._guards.tracing(lowered.tracing))
        yield


def _beginning(gm: fx.GraphModule, last: fx.Node, results: Sequence[fx.Node]) -> fx.GraphModule:
    """The graph up to a node, with these results. What comes after it is gone, writes to inputs too."""
    graph = copy.deepcopy(gm.graph)
    made = {node.name: node for node in graph.nodes}
    output = graph.output_node()
    output.args = (tuple(made[node.name] for node in results),)
    output.meta = {"user_visible_output_idxs": []}
    nodes = list(graph.nodes)
    for node in reversed(nodes[nodes.index(made[last.name]) + 1 :]):
        if node.op not in ("output", "placeholder"):
            graph.erase_node(node)
    graph.eliminate_dead_code()
    return fx.GraphModule(gm, graph)


def _told_apart(expected: torch.Tensor, actual: torch.Tensor) -> str:
    """What differs in dtype, shape or values."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype} {list(actual.shape)} instead of {expected.dtype} {list(expected.shape)}"
    return _difference(expected, actual)


def _difference(expected: torch.Tensor, actual: torch.Tensor) -> str:
    """PyTorch's own judgement at its default tolerances; "" where it passes."""
    a, b = numeric.as_tensor(expected), numeric.as_tensor(actual)
    if a is None or b is None:
        return ""
    wrong = numeric.differs(a, b)
    if not bool(wrong.any()):
        return ""
    if not numeric.is_exact(a) and numeric.same_as(a, b, None, ignore=torch.zeros_like(wrong)):
        return ""
    return numeric.example(a, b, wrong)


# Saying


def _origin(node: fx.Node) -> str:
    """The node of Dynamo's graph that a node was made for; "" where torch does not know."""
    sources, name = node.meta.get("from_node") or [], ""
    while sources:
        source = sources[-1]
        name = source.node_info.name if source.node_info is not None else name
        sources = source.from_node or []
    return name


def _report(graph: str, node: fx.Node, what: str) -> dict[str, Any]:
    target = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
    operator = str(node.target) if isinstance(node.target, torch._ops.OpOverload) else target
    return {"graph": graph, "node": node.name, "operator": operator, "line": _line(node), "what": what}


def _line(node: fx.Node) -> str:
    """The program's own line, from the stack that Dynamo noted."""
    found = re.findall(rf'File "{re.escape(FILE)}", line \d+, in .*\n\s*(.+)', node.meta.get("stack_trace") or "")
    return found[-1].strip() if found else ""
