"""Forms: the nodes inside stay, written plainly."""

from __future__ import annotations

from functools import partial

from ...ir.builder import Rejected
from ...ir.program import Program, Region
from ...mutators.tools import Tools
from .. import Change, reducer
from .._reduction import Reduction


@reducer("drop_forms", order=50)
class DropForms:
    def changes(self, program: Program, tools: Tools) -> list[Change]:
        return [
            Change(f"{f.name} form {i}", f"no {region.form}", partial(_drop, f.name, region), joint=True)
            for f in program.functions
            for i, region in enumerate(f.regions)
        ]


def _drop(function: str, region: Region, edit: Reduction) -> None:
    f = edit.b.functions[function]
    if region not in f.regions:
        raise Rejected("the form is gone")
    f.regions.remove(region)
    edit.b.stale = True
