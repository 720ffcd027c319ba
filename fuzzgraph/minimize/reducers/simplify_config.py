"""Config patches, each left out."""

from __future__ import annotations

from functools import partial

from ...ir.program import Program
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction


@reducer("simplify_config", order=80)
class SimplifyConfig:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        return [
            Change(name, f"no {name}", partial(_drop, name), joint=True) for name, _ in program.options.config
        ]  # fmt: skip


def _drop(name: str, edit: Reduction) -> None:
    edit.b.set_options(config=tuple(patch for patch in edit.b.options.config if patch[0] != name))
