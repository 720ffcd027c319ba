"""Inductor's passes that are off unless a setting names them."""

from __future__ import annotations

from typing import Any

# Passes with a setting of their own, by name or by the start of it.
SETTINGS = {
    "efficient_conv_bn_eval_pass": "inductor.efficient_conv_bn_eval_fx_passes",
    "b2b_gemm_pass": "inductor.b2b_gemm_pass",
    "freezing_patterns.": "inductor.freezing",
}
# Patterns of split and cat are looked for in what these passes make of a graph.
FIRST = {"pre_grad_fusion_options": "normalization_pass", "post_grad_fusion_options": "normalization_aten_pass"}
# What group fusions look for where they have no `op` of their own.
LAYERS = {
    "batch_linear": "torch.nn.functional.linear", "batch_linear_lhs": "torch.nn.functional.linear",
    "batch_layernorm": "torch.nn.functional.layer_norm", "batch_linear_post_grad": "aten.addmm",
}  # fmt: skip
# How many equal operators a group fusion waits for, and how many it is given. Its default is 5.
GROUP = 2


def _tables(setting: str) -> tuple[Any, Any]:
    """Passes of patterns and fusions of groups, by name, that one of torch's two dictionaries of passes takes."""
    from torch._inductor.fx_passes import group_batch_fusion, split_cat

    if setting == "pre_grad_fusion_options":
        return split_cat.PRE_GRAD_PATTERNS, group_batch_fusion.PRE_GRAD_FUSIONS
    return split_cat.POST_GRAD_PATTERNS, group_batch_fusion.POST_GRAD_FUSIONS


def names(setting: str) -> set[str]:
    """What `inductor.<setting>` may name. Imports torch's passes."""
    return set().union(*_tables(setting))


def needs(where: str) -> dict[str, Any]:
    """The config patches, as a program spells them, under which torch applies a pass. Most need none."""
    for name, setting in SETTINGS.items():
        if where.startswith(name):
            return {setting: True}
    for setting, first in FIRST.items():
        if where in _tables(setting)[0]:
            return {f"inductor.{setting}.{name}": True for name in sorted({first, where})}
    return {}


def fusions() -> dict[str, Any]:
    """The classes of torch's fusions of groups, by name."""
    return {name: kind for setting in FIRST for name, kind in _tables(setting)[1].items()}


def groups() -> list[dict[str, Any]]:
    """What fusions of groups look for, in the form of `patterns`: the same operator more than once, apart."""
    from .patterns import operator_name

    found = []
    for setting in FIRST:
        for name, kind in _tables(setting)[1].items():
            op = getattr(kind(), "op", None)
            called = LAYERS.get(name) if op is None else operator_name(op)
            if called is None:
                continue
            # Each of another tensor; the rest of their arguments is the same.
            args = [{"any": ""}, *({"any": f"argument{i}"} for i in range(1, 4))]
            nodes = [{"ops": [called], "args": args, "kwargs": {}, "users": None} for _ in range(GROUP)]
            on = {f"inductor.{setting}.{name}.min_fuse_set_size": GROUP}
            found.append({"name": name, "where": f"group_batch_fusion.{setting}", "nodes": nodes,
                          "outputs": list(range(GROUP)), "needs": on})  # fmt: skip
    return found
