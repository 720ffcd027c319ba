"""Random run options and config patches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from ..grammar.rule import RuleBook
from ..ir.builder import Builder
from ..ir.program import RunOptions
from .profile import Profile, pick

# Settings that change what is generated on the CPU and that torch 2.13 to 2.15 have, each with values other than its
# default. Left out: settings that change results on purpose (fast math, contraction, strides of outputs), that only log
# or assert, that need CUDA (`functionalize_rng_ops`), that break a fork server (`cpp.dynamic_threads`) or never compile
# (`cpp.force_inline_kernel`, torch 2.15).
CONFIG: Mapping[str, tuple[Any, ...]] = {
    "inductor.cpp.simdlen": (0, 1, 256),
    "inductor.cpp.threads": (2, 4),  # the loops, whatever number of threads runs them
    "inductor.cpp.min_chunk_size": (1,),
    "inductor.cpp.enable_tiling_heuristics": (False,),
    "inductor.cpp.enable_loop_tail_vec": (False,),
    "inductor.cpp.no_redundant_loops": (False,),
    "inductor.cpp.max_horizontal_fusion_size": (1, 2),
    "inductor.cpp.fallback_scatter_reduce_sum": (False,),
    "inductor.cpp.enable_concat_linear": (True,),
    "inductor.cpp.weight_prepack": (False,),
    "inductor.cpp.use_constexpr_for_int_array": (False,),
    "inductor.cpp_wrapper": (True,),
    "inductor.max_fusion_size": (1, 2, 4),
    "inductor.epilogue_fusion": (False,),
    "inductor.prologue_fusion": (False,),
    "inductor.pattern_matcher": (False,),
    "inductor.aggressive_fusion": (True,),
    "inductor.freezing": (True,),
    "inductor.split_reductions": (False,),
    "inductor.permute_fusion": (True,),
    "inductor.comprehensive_padding": (False,),
    "inductor.pad_outputs": (True,),
    "inductor.padding_stride_threshold": (0,),
    "inductor.layout_optimization": (False,),
    "inductor.force_layout_optimization": (True,),
    "inductor.shape_padding": (False,),
    "inductor.inplace_buffers": (False,),
    "inductor.allow_buffer_reuse": (False,),
    "inductor.memory_planning": (True,),
    "inductor.reorder_for_locality": (False,),
    "inductor.reorder_for_peak_memory": (False,),
    "inductor.pick_loop_orders": (False,),
    "inductor.loop_ordering_after_fusion": (False,),
    "inductor.loop_index_inversion_in_fusion": (False,),
    "inductor.expand_dimension_for_pointwise_nodes": (True,),
    "inductor.score_fusion_memory_threshold": (1,),
    "inductor.online_softmax": (False,),
    "inductor.max_pointwise_cat_inputs": (2,),
    "inductor.unroll_reductions_threshold": (1, 64),
    "inductor.realize_reads_threshold": (1,),
    "inductor.realize_opcount_threshold": (1,),
    "inductor.joint_graph_constant_folding": (False,),
    "inductor.constant_and_index_propagation": (False,),
    "inductor.optimize_scatter_upon_const_tensor": (False,),
    "inductor.always_keep_tensor_constants": (True,),
    "inductor.conv_1x1_as_mm": (True,),
    "inductor.decompose_mem_bound_mm": (True,),
    "inductor.group_fusion": (True,),
    "inductor.dce": (True,),
    "inductor.graph_partition": (False,),
    "inductor.combo_kernels": (True,),
    "inductor.enable_auto_functionalized_v2": (False,),
    "inductor.emulate_precision_casts": (True,),
    "dynamo.assume_static_by_default": (False,),
    "dynamo.automatic_dynamic_shapes": (False,),
    "dynamo.specialize_int": (True,),
    "dynamo.specialize_float": (True,),
    "dynamo.capture_scalar_outputs": (True,),
    "dynamo.capture_dynamic_output_shape_ops": (True,),
    "dynamo.prefer_deferred_runtime_asserts_over_guards": (True,),
    "dynamo.track_nodes_for_deduplication": (True,),
    "dynamo.install_free_tensors": (True,),
    "dynamo.nested_graph_breaks": (True,),
    "functorch.recompute_views": (True,),
    "functorch.aggressive_recomputation": (True,),
    "functorch.ban_recompute_used_far_apart": (False,),
    "functorch.ban_recompute_reductions": (False,),
    "functorch.treat_parameters_as_free_to_save": (False,),
    "functorch.cse": (False,),
    "functorch.view_replay_for_aliased_outputs": (False,),
    "functorch.activation_memory_budget": (0.0, 0.5),
    "functorch.guess_tangent_strides_as_outputs": (False,),
    "functorch.donated_buffer": (False,),
}
# Patches that change results by design, or that need what a plain call does not give.
NEEDS_NO_GRAD = frozenset({"inductor.freezing"})

# Settings that keep numbers and sizes of data in the graph.
CAPTURE = ("dynamo.capture_scalar_outputs", "dynamo.capture_dynamic_output_shape_ops")

DYNAMIC = ((None, 55), (True, 35), (False, 10))
MODES = ((None, 94.0), ("default", 3.0), ("max-autotune-no-cudagraphs", 0.5), ("reduce-overhead", 1.0))
AUTOCAST = ((None, 90), ("bf16", 8), ("f16", 2))


def set_needs(book: RuleBook, b: Builder) -> None:
    """Add the settings that the program's operators need."""
    rules = (book.rules.get(str(n.meta["op"])) for f in b.functions.values() for n in f.body)
    require(b, {key: value for rule in rules if rule is not None for key, value in rule.needs})


def require(b: Builder, needs: Mapping[str, Any]) -> None:
    """Add config patches. A mode goes, if there is one: torch takes one of them."""
    if needs.items() - dict(b.options.config).items():
        b.set_options(mode=None, config=tuple(sorted({**dict(b.options.config), **needs}.items())))


def draw_config(rng: Random, grad: bool = False) -> tuple[tuple[str, Any], ...]:
    """One patch or, less often, a few."""
    names = [n for n in CONFIG if not (grad and n in NEEDS_NO_GRAD)]
    chosen = rng.sample(names, rng.choice((1, 1, 1, 2, 3)))
    return tuple((name, rng.choice(CONFIG[name])) for name in sorted(chosen))


def draw_options(rng: Random, profile: Profile, floating: bool = True) -> RunOptions:
    """Run options; mostly the defaults, with backward in a share of the programs whose dtypes are `floating`."""
    grad = floating and rng.random() < profile.grad
    if rng.random() >= profile.options:
        return RunOptions(grad=grad)
    inference = not grad and rng.random() < 0.08
    # No mode and config patches at once: torch.compile takes one of them as arguments.
    mode = pick(MODES, rng)
    config = draw_config(rng, grad) if mode is None and rng.random() < profile.config else ()
    return RunOptions(
        dynamic=pick(DYNAMIC, rng), fullgraph=rng.random() < 0.2, grad=grad, autocast=pick(AUTOCAST, rng),
        inference=inference, mode=mode, config=config,
    )  # fmt: skip


def number_options(options: RunOptions, rng: Random) -> RunOptions:
    """Options under which sizes are symbols, and numbers and sizes of data too, as often as not."""
    options = replace(options, dynamic=pick(DYNAMIC, rng))
    if rng.random() < 0.5:
        return options
    captured = rng.sample(CAPTURE, rng.choice((1, 2)))
    return replace(options, config=tuple((name, True) for name in sorted(captured)))


def change_option(options: RunOptions, rng: Random) -> RunOptions:
    """The same options but for one: another value, a config patch more, or one less."""
    field = rng.choice(("dynamic", "fullgraph", "grad", "autocast", "inference", "mode", "config", "config", "config"))
    if field == "config":
        if options.config and rng.random() < 0.4:
            dropped = rng.randrange(len(options.config))
            return replace(options, config=tuple(p for i, p in enumerate(options.config) if i != dropped))
        patches = dict(options.config)
        names = [n for n in CONFIG if not (options.grad and n in NEEDS_NO_GRAD) and CONFIG[n] != (patches.get(n),)]
        name = rng.choice(names)
        patches[name] = rng.choice([v for v in CONFIG[name] if v != patches.get(name)])
        return replace(options, mode=None, config=tuple(sorted(patches.items())))
    tables: dict[str, Any] = {"dynamic": DYNAMIC, "autocast": AUTOCAST, "mode": MODES}
    table = tables.get(field, ((True, 1), (False, 1)))
    change: dict[str, Any] = {field: rng.choice([v for v, _ in table if v != getattr(options, field)])}
    return settle(replace(options, **change), field)


def settle(options: RunOptions, kept: str) -> RunOptions:
    """Drop what contradicts the field `kept`: inference mode and backward, a mode and config patches."""
    if options.grad and options.inference:
        options = replace(options, inference=False) if kept == "grad" else replace(options, grad=False)
    if options.mode is not None and options.config:
        options = replace(options, config=())
    if options.grad:
        options = replace(options, config=tuple(p for p in options.config if p[0] not in NEEDS_NO_GRAD))
    return options
