"""Config patches of a program, and the settings of torch that they mean.

A patch names one setting and gives a plain value. The two settings of Inductor that are dictionaries of optional passes
are spelled by a path, so that each pass is a patch of its own, which can be drawn, changed and dropped alone:
`inductor.pre_grad_fusion_options.split_cat_pass = True` switches a pass on, and
`inductor.pre_grad_fusion_options.batch_relu.min_fuse_set_size = 2` does so with an option of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PASSES = ("inductor.pre_grad_fusion_options", "inductor.post_grad_fusion_options")


def as_torch(config: Mapping[str, Any]) -> dict[str, Any]:
    """Patches as torch has its settings: those of passes become one dictionary for each of PASSES. Others stay."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        setting = next((s for s in PASSES if key.startswith(f"{s}.")), None)
        if setting is None:
            found[key] = value
            continue
        name, _, option = key.removeprefix(f"{setting}.").partition(".")
        options = found.setdefault(setting, {}).setdefault(name, {})
        if option:
            options[option] = value
    return found
