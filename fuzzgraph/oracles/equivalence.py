"""The program against what must compute the same: an exact rewrite of it, another configuration, a second compilation.

Compiled run is held against compiled run, by the value oracle's comparison with its tolerances and doubts; eager stays
the judge of stability, and shows for each rewrite that it is one. It cannot judge what the value oracle cannot, nor
strides and aliases (a rewrite may change both), nor what a setting says of itself that it is not written yet; and it is
silent where the program's own compiled run is what differs from eager, which the other oracles report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from ..ir.hash import content_hash
from ._exceptions import describe, raised
from ._failure import Failure
from ._leafwise import judge_leaves
from ._taint import taint
from ._types import Quiet, Run, Tools
from ._variants import Variant, rendered, runs

if TYPE_CHECKING:
    from ..grammar import RuleBook
    from ..ir.program import Program

# Costs further compilations: planned for a share of a campaign's programs.
EXPENSIVE = True
LEAVES = ("output", "input", "gradient", "state")
AGAIN = "compiled again"
# What a setting says whose code does not know an operator yet.
NOT_WRITTEN = re.compile(r"not (?:yet |currently )?(?:supported|implemented)")
# How often a program is compiled again as it is, rather than under another setting.
AGAIN_SHARE = 0.2
EMULATE = {"inductor.emulate_precision_casts": True}
# Settings of Inductor and AOTAutograd that change how code is made and not what it computes. Left out: those that round
# elsewhere on purpose, change strides of outputs, or decide whether a program is accepted.
SETTINGS: Mapping[str, tuple[Any, ...]] = {
    "inductor.cpp.simdlen": (0, 1, 256),
    "inductor.cpp.enable_tiling_heuristics": (False,),
    "inductor.cpp.enable_loop_tail_vec": (False,),
    "inductor.cpp.no_redundant_loops": (False,),
    "inductor.cpp.max_horizontal_fusion_size": (1,),
    "inductor.cpp.use_constexpr_for_int_array": (False,),
    "inductor.cpp_wrapper": (True,),
    "inductor.max_fusion_size": (1, 2),
    "inductor.epilogue_fusion": (False,),
    "inductor.pattern_matcher": (False,),
    "inductor.aggressive_fusion": (True,),
    "inductor.split_reductions": (False,),
    "inductor.permute_fusion": (True,),
    "inductor.comprehensive_padding": (False,),
    "inductor.layout_optimization": (False,),
    "inductor.shape_padding": (False,),
    "inductor.inplace_buffers": (False,),
    "inductor.allow_buffer_reuse": (False,),
    "inductor.memory_planning": (True,),
    "inductor.reorder_for_locality": (False,),
    "inductor.reorder_for_peak_memory": (False,),
    "inductor.pick_loop_orders": (False,),
    "inductor.loop_ordering_after_fusion": (False,),
    "inductor.expand_dimension_for_pointwise_nodes": (True,),
    "inductor.max_pointwise_cat_inputs": (2,),
    "inductor.unroll_reductions_threshold": (1, 64),
    "inductor.realize_reads_threshold": (1,),
    "inductor.realize_opcount_threshold": (1,),
    "inductor.joint_graph_constant_folding": (False,),
    "inductor.constant_and_index_propagation": (False,),
    "inductor.optimize_scatter_upon_const_tensor": (False,),
    "inductor.dce": (True,),
    "inductor.combo_kernels": (True,),
    "inductor.enable_auto_functionalized_v2": (False,),
    "functorch.cse": (False,),
    "functorch.recompute_views": (True,),
    "functorch.aggressive_recomputation": (True,),
}


def plan(program: Program, book: RuleBook | None) -> dict[str, Any] | None:
    """One further setting or a second compilation, by the program's hash; what must not be compared."""
    found = taint(program, book)
    setting = _setting(program)
    return {
        "outputs": found.outputs, "inputs": found.inputs, "states": found.states, "gradients": not found.sources,
        "config": {} if setting is None else dict([setting]), "again": setting is None,
    }  # fmt: skip


def plan_variants(
    found: dict[str, Any] | None, program: Program, book: RuleBook | None, variants: Sequence[Variant]
) -> dict[str, Any] | None:
    """The rewrites, too. Backward weighs results by their places, so that gradients differ where those change."""
    made = []
    for v in variants:
        source = rendered(v.program, book)["source"]
        made.append({"key": v.key, "source": source, "undo": v.undo, "gradients": not v.undo})
    return {**(found or {}), "variants": made}


def _setting(program: Program) -> tuple[str, Any] | None:
    rng = Random("equivalence " + content_hash(program))
    # A mode is torch.compile's argument and patches the settings itself.
    if rng.random() < AGAIN_SHARE or program.options.mode is not None:
        return None
    have = dict(program.options.config)
    name = rng.choice([n for n in SETTINGS if n not in have])
    return name, rng.choice(SETTINGS[name])


def with_setting(program: Program, key: str) -> Program:
    """The program that a failure under another setting is a failure of; the program itself for any other key."""
    setting = _setting(program)
    if setting is None or key != _config_key(*setting):
        return program
    return program.with_options(config=tuple(sorted([*program.options.config, setting])))


def _config_key(name: str, value: Any) -> str:
    return f"{name}={value!r}"


def judge(plan: dict[str, Any], reference: Run, subject: Run, tools: Tools) -> list[Failure]:
    """At most one failure per kind (value, mutation, gradient, state, exception) and counterpart."""
    if subject.error is not None:
        return []
    found: list[Failure] = []
    settings = {_config_key(*item) for item in (plan.get("config") or {}).items()}
    for key, other, emulated, leave_out in _others(plan, reference, tools):
        if other.error is not None:
            if key in settings and (said := _not_written(other.error)):
                tools.note(f"{key}: {said}")
            elif not tools.harmless(other):
                before = f"{key!r} raises, the program itself does not: "
                found.append(raised("equivalence", other.error, before, variant=key))
            continue
        seen = _differences(leave_out, subject, other, tools)
        if seen and tools.low_precision:
            seen = _outlives(seen, leave_out, tools.emulated(), emulated(), tools)
        found += [replace(f, variant=key, detail=f"{key!r}: {_reworded(f.detail)}") for f in seen]
    return found


def _not_written(error: BaseException) -> str:
    """What the compiler says where it says of itself that it is not written yet; empty where it says anything else."""
    found = describe(error)
    return found.message if found.exc_type == "NotImplementedError" and NOT_WRITTEN.search(found.text) else ""


# A counterpart: its key, its compiled run, what makes that run with emulated casts, and what not to compare.
Counterpart = tuple[str, Run, Any, dict[str, Any]]


def _others(plan: dict[str, Any], reference: Run, tools: Tools) -> Iterator[Counterpart]:
    for variant in plan.get("variants", ()):
        trial = tools.other(variant["source"])
        leave_out = {**plan, "gradients": plan["gradients"] and variant["gradients"]}
        if not runs(variant["key"], trial, tools):
            continue
        if _differences(leave_out, reference, _undone(trial.reference, variant["undo"]), tools):
            tools.note(f"{variant['key']}: eager computes something else")
            continue

        def emulated(trial: Any = trial, undo: str = variant["undo"]) -> Run | None:
            run = trial.tools.emulated()
            return None if run is None else _undone(run, undo)

        yield variant["key"], _undone(trial.subject, variant["undo"]), emulated, leave_out
    config = plan.get("config")
    run = tools.reconfigured(config) if config else None
    if config and run is not None:
        yield _config_key(*next(iter(config.items()))), run, lambda: tools.reconfigured({**config, **EMULATE}), plan
    if plan.get("again"):
        yield AGAIN, tools.again(), lambda: tools.reconfigured(EMULATE), plan


def _undone(run: Run, undo: str) -> Run:
    """A rewrite's run with the results of the original."""
    if not undo or run.error is not None:
        return run
    return replace(run, results=[r[0] if undo == "first" else type(r)(reversed(r)) for r in run.results])


def _differences(plan: dict[str, Any], one: Run, other: Run, tools: Tools) -> list[Failure]:
    found = judge_leaves(plan, one, other, Quiet(tools), "equivalence", LEAVES)
    return [f for f in found if f.kind != "zero_sign"]


def _outlives(
    seen: list[Failure], plan: dict[str, Any], one: Run | None, other: Run | None, tools: Tools
) -> list[Failure]:
    """Those of the failures that stay where both runs round where eager rounds: fusion may skip roundings."""
    if one is None or other is None or other.error is not None:
        return seen
    kinds = {f.kind for f in _differences(plan, one, other, tools)}
    return [f for f in seen if f.kind in kinds]


def _reworded(detail: str) -> str:
    return detail.replace("in eager", "in the program as it is").replace(" compiled", " in its counterpart")
