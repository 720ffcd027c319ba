"""The first node whose value is wrong, in two steps.

1. The graph that Dynamo made and the graph that AOTAutograd, decompositions and joint passes made of it for Inductor
   are both interpreted; nodes are matched by `from_node`, torch's own record of where a node comes from.
2. Each beginning of that second graph, with its last node as the only result, is compiled by Inductor and held against
   its interpretation, each in a fork: any of them may kill its process.

The program itself runs on with interpreted values, so nothing that is wrong here changes what comes after.
It cannot say anything of strides, of memory shared between results, of errors before Inductor, and of bugs that no
beginning of a graph shows by itself.
"""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Callable, Iterator
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
LOW = (torch.float16, torch.bfloat16)


@dataclass
class Lowered:
    """A graph for Inductor, with what it was to be compiled with and what it was first called with."""

    graph: fx.GraphModule
    examples: list[Any]
    kwargs: dict[str, Any]
    tracing: Any
    inputs: list[Any] | None = None


@dataclass
class Piece:
    """A graph of Dynamo's, and those that were made of it: forward or inference first, then backward."""

    graph: fx.GraphModule
    inputs: list[Any] | None = None
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
            if piece.inputs is None:
                piece.inputs = [_kept(value) for value in inputs]
            return compiled(*inputs)

        return call

    return backend


def _interpreted(lowered: Lowered) -> Callable[..., Any]:
    """What stands for the compiled graph: AOTAutograd passes one list of arguments, which the callee empties."""

    def call(inputs: list[Any]) -> Any:
        if lowered.inputs is None:
            lowered.inputs = [_kept(value) for value in inputs]
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


class _Recorder(fx.Interpreter):
    """Keeps each node's value as it was when it was made."""

    def __init__(self, graph: fx.GraphModule) -> None:
        super().__init__(graph)
        self.values: dict[str, torch.Tensor] = {}

    def run_node(self, n: fx.Node) -> Any:
        value = super().run_node(n)
        if n.op.startswith("call") and isinstance(value, torch.Tensor):
            self.values[n.name] = _kept(value.detach())
        return value


def _values(graph: fx.GraphModule, inputs: list[Any]) -> dict[str, torch.Tensor]:
    recorder = _Recorder(graph)
    recorder.run(*[_kept(value) for value in inputs])
    return recorder.values


# Searching


def _search(pieces: list[Piece], context: Context, limit: float) -> dict[str, Any] | None:
    for piece in pieces:
        for i, lowered in enumerate(piece.lowered):
            if lowered.inputs is None:
                continue
            with torch.no_grad():
                values = _values(lowered.graph, lowered.inputs)
            found = _before(piece, lowered, values) if i == 0 else None
            found = found or _after(lowered, values, context, limit)
            if found is not None:
                return {**found, "direction": "backward" if lowered.kwargs.get("is_backward") else "forward"}
    return None


def _before(piece: Piece, lowered: Lowered, values: dict[str, torch.Tensor]) -> dict[str, Any] | None:
    """The first node of Dynamo's graph that AOTAutograd's graph computes otherwise."""
    if piece.inputs is None:
        return None
    last = {_origin(node): values[node.name] for node in lowered.graph.graph.nodes if node.name in values}
    expected = _values(piece.graph, piece.inputs)
    for node in piece.graph.graph.nodes:
        a, b = expected.get(node.name), last.get(node.name)
        if a is not None and b is not None and a.dtype == b.dtype and a.shape == b.shape:
            what = _difference(a, b)
            if what:
                return _report("aot", node, what)
    return None


def _after(
    lowered: Lowered, values: dict[str, torch.Tensor], context: Context, limit: float
) -> dict[str, Any] | None:
    """The last node of the shortest beginning that Inductor compiles to something else, or not at all."""
    nodes = [node for node in lowered.graph.graph.nodes if node.name in values][:NODES]
    for node in nodes:
        def judge(node: fx.Node = node) -> dict[str, Any]:
            return {"what": _judged(lowered, node, values[node.name], context)}

        answer = forked.call(judge, limit)
        what = answer["what"] if isinstance(answer, dict) else f"the process ends: {answer}"
        if what:
            return _report("inductor", node, what)
    return None


def _judged(lowered: Lowered, last: fx.Node, expected: torch.Tensor, context: Context) -> str:
    """What is wrong with the compiled graph that ends with `last`; "" if nothing is."""
    assert lowered.inputs is not None
    graph = _beginning(lowered.graph, last)
    low = any(isinstance(v, torch.Tensor) and v.dtype in LOW for v in (*lowered.inputs, expected))
    emulate = {"inductor.emulate_precision_casts": True} if low and context.hooks.emulate_casts else {}
    try:
        with _traced(lowered), patched(emulate), torch.no_grad():
            compiled = context.hooks.compile_fx.compile_fx_inner(graph, lowered.examples, **lowered.kwargs)
            (actual,) = compiled([_kept(value) for value in lowered.inputs])
    except Exception as e:  # of the compiler or the compiled code: that is the answer
        raised = crash.failure(e)
        return f"{raised.exc_type}: {' '.join(raised.message.split())[:300]}"
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype} {list(actual.shape)} instead of {expected.dtype} {list(expected.shape)}"
    return _difference(expected, actual)


@contextlib.contextmanager
def _traced(lowered: Lowered) -> Iterator[None]:
    """As while it was compiled the first time: sizes may be symbols, which its tracing context knows."""
    with contextlib.ExitStack() as stack:
        if lowered.tracing is not None:
            stack.enter_context(torch._guards.tracing(lowered.tracing))
        yield


def _beginning(gm: fx.GraphModule, last: fx.Node) -> fx.GraphModule:
    """The graph up to a node, whose value is its only result."""
    graph = copy.deepcopy(gm.graph)
    made = {node.name: node for node in graph.nodes}
    output = graph.output_node()
    output.args = ((made[last.name],),)
    output.meta = {"user_visible_output_idxs": []}
    graph.eliminate_dead_code()
    return fx.GraphModule(gm, graph)


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
