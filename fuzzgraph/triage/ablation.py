"""Which settings make a failure go away: the table that PyTorch's bug form asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fuzzgraph.execution.protocol import Job, Outcome

from .ladder import LADDER
from .matching import NO_SETTING, Run, Same, said

FAILS, GONE, OTHER, NOT_HERE = "still fails", "gone", "another failure", "not applicable"


@dataclass(frozen=True)
class Setting:
    """`options` replace those of the job, `config` adds to its config patches. `note` says what it is for; `part` is
    the rung from which on it can matter."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    part: str = "dynamo"


@dataclass(frozen=True)
class Row:
    """One setting tried: `verdict` is one of FAILS, GONE, OTHER, NOT_HERE; `detail` says more about the last two."""

    setting: str
    verdict: str
    detail: str = ""


def _config(name: str, value: Any, note: str) -> Setting:
    module, _, key = name.partition(".")
    part = "aot" if module == "functorch" else "inductor"
    return Setting(f"{module}.config.{key}={value}", config={name: value}, note=note, part=part)


# What a maintainer would try first, in the order of the compiler's parts.
SETTINGS = (
    Setting("dynamic=True", {"dynamic": True}),
    Setting("dynamic=False", {"dynamic": False}),
    Setting("fullgraph=True", {"fullgraph": True}),
    _config("functorch.cse", False, "common subexpressions are kept apart"),
    Setting("inductor.config.selective_decompose=True", config={"inductor.selective_decompose": True},
            note="no decompositions", part="decomp"),
    _config("inductor.use_pre_grad_passes", False, "no passes before autograd"),
    _config("inductor.use_joint_graph_passes", False, "no passes on the joint graph"),
    _config("inductor.use_post_grad_passes", False, "no passes after autograd"),
    _config("inductor.pattern_matcher", False, "no pattern matcher"),
    _config("inductor.joint_graph_constant_folding", False, "no constant folding"),
    _config("inductor.constant_and_index_propagation", False, "no propagation of constants in lowerings"),
    _config("inductor.fallback_by_default", True, "every operator calls ATen"),
    _config("inductor.freezing", True, "parameters are constants"),
    _config("inductor.layout_optimization", False, "layouts stay"),
    _config("inductor.comprehensive_padding", False, "no padding of strides"),
    _config("inductor.keep_output_stride", False, "strides of outputs are free"),
    _config("inductor.inplace_buffers", False, "no buffer is written in place"),
    _config("inductor.allow_buffer_reuse", False, "no buffer is used twice"),
    _config("inductor.max_fusion_size", 1, "no fusion"),
    _config("inductor.epilogue_fusion", False, "no epilogue fusion"),
    _config("inductor.split_reductions", False, "reductions stay whole"),
    _config("inductor.cpp.simdlen", 1, "scalar code"),
    _config("inductor.cpp.threads", 2, "loops for two threads"),
    _config("inductor.cpp.enable_loop_tail_vec", False, "loop tails are scalar"),
    _config("inductor.cpp.fallback_scatter_reduce_sum", False, "scatter is a kernel"),
    _config("inductor.emulate_precision_casts", True, "half precision is rounded as in eager"),
    _config("inductor.cpp_wrapper", True, "the wrapper is C++"),
)  # fmt: skip


def settings_for(rung: str) -> tuple[Setting, ...]:
    """Those that can matter to a failure that this rung is the first to show: all of them where that is not known, none
    where no compiler is at work."""
    parts = [name for name, _ in LADDER]
    if rung not in parts:
        return () if rung == "fake" else SETTINGS
    return tuple(s for s in SETTINGS if parts.index(s.part) <= parts.index(rung))


def ablate(run: Run, job: Job, same: Same, settings: tuple[Setting, ...] = SETTINGS) -> list[Row]:
    """Run the job under each setting. Settings that it has already are left out."""
    tried = [s for s in settings if changes(job, s)]
    jobs = [changed(job, setting, i) for i, setting in enumerate(tried)]
    return [row(s, outcome, same) for s, outcome in zip(tried, run(jobs), strict=True)]


def changes(job: Job, setting: Setting) -> bool:
    config = job.options.get("config") or {}
    same_options = all(job.options.get(k) == v for k, v in setting.options.items())
    return not (same_options and all(k in config and config[k] == v for k, v in setting.config.items()))


def changed(job: Job, setting: Setting, number: int) -> Job:
    """The job under the setting."""
    config = {**(job.options.get("config") or {}), **setting.config}
    options = {**job.options, **setting.options, "config": config}
    return replace(job, id=f"{job.id}/ablation{number}", options=options, tier="compare")


def row(setting: Setting, outcome: Outcome, same: Same) -> Row:
    if same(outcome):
        return Row(setting.name, FAILS)
    if outcome.error is not None and outcome.error.type == NO_SETTING:
        return Row(setting.name, NOT_HERE, "this torch has no such setting")
    if outcome.status == "ok" and outcome.error is not None:  # a refusal that fullgraph asks for
        return Row(setting.name, NOT_HERE, said(replace(outcome, status="refused")))
    if outcome.status == "ok":
        return Row(setting.name, GONE, setting.note)
    if not outcome.valid:
        return Row(setting.name, NOT_HERE, said(outcome))
    return Row(setting.name, OTHER, said(outcome))
