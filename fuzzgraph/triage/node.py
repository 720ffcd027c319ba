"""The first node of the compiler's graphs whose value is wrong, found in a child of the harness (`harness.nodes`)."""

from __future__ import annotations

from dataclasses import dataclass

from fuzzgraph.execution.protocol import Failure, Job

from .bisection import BISECTED
from .matching import Run, searched

# Compilations that it may take: two for each beginning of the graph.
TRIALS = 120
# What a node's value can tell of, by oracle and kind: strides and shared memory are no values.
ORACLES = ("value", "gradient", "crash")
KINDS = (("aliasing", "mutation"), ("metadata", "dtype"), ("metadata", "shape"))
# Dynamo's errors come before any graph.
RUNGS = ("aot", "decomp", "inductor", "inductor-fresh")


@dataclass(frozen=True)
class FirstNode:
    """`graph` is "aot" (the graph that Inductor is given already computes another value), "inductor" (that graph's
    beginning up to this node, compiled alone, does not give what its interpretation gives), or "" where there is no
    answer; `note` then says why. `line` is the program's, `what` what differs there."""

    graph: str
    direction: str = ""
    node: str = ""
    operator: str = ""
    line: str = ""
    what: str = ""
    note: str = ""

    @property
    def text(self) -> str:
        if not self.graph:
            return f"no answer: {self.note}"
        where = {"aot": "Dynamo's graph against the graph for Inductor, both interpreted",
                 "inductor": "the graph for Inductor up to this node, interpreted against compiled"}  # fmt: skip
        line = f" of `{self.line}`" if self.line else ""
        return f"`{self.operator}`{line} ({self.direction}; {where[self.graph]}): {self.what}"


def first_node(run: Run, job: Job, failure: Failure, rung: str) -> FirstNode:
    """Look for it, where the failure is one that a node's value can show."""
    tells = failure.oracle in ORACLES or (failure.oracle, failure.kind) in KINDS
    if not tells or job.target not in BISECTED or rung not in RUNGS:
        return FirstNode("", note="values of nodes do not show such a failure")
    report, reason = searched(run, job, "nodes", TRIALS)
    return FirstNode(**report) if "graph" in report else FirstNode("", note=reason)
