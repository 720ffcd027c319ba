"""Findings become regression programs: what a finding shows is expected from its torch on, until it is fixed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from packaging.version import Version

from fuzzgraph.corpus.tree import write_whole
from fuzzgraph.errors import UsageError
from fuzzgraph.ir.hash import content_hash
from fuzzgraph.ir.text import format, parse_file
from fuzzgraph.minimize.deflake import NOT_CONFIRMED, STABLE
from fuzzgraph.toml import toml_line

from .record import Finding
from .regression import label


def worth_keeping(findings: Sequence[Finding]) -> list[Finding]:
    """Those that are triaged and stable, each group's first, without known issues."""
    return [
        f for f in findings
        if f.triage.get("deflake", {}).get("verdict") == STABLE and "signature" in f.triage
        and "problem" not in f.triage and not f.triage.get("known") and f.triage.get("group", f.id) == f.id
        and not f.preload
    ]  # fmt: skip


def keep(finding: Finding, folder: Path) -> Path | None:
    """Add a triaged finding to a folder of regression programs, as ID.fg and ID.toml (see `regression`).

    Returns the program's path, None where the folder holds an equal program already. Raises UsageError for a finding
    that needs a preload, was not confirmed, or is not triaged: no regression program can expect it.
    """
    if "signature" not in finding.triage or "problem" in finding.triage:
        raise UsageError("cannot be kept: it is not triaged", where=finding.id)
    if finding.triage["deflake"]["verdict"] == NOT_CONFIRMED:
        raise UsageError("cannot be kept: it did not come again", where=finding.id)
    if finding.preload:
        raise UsageError("cannot be kept: it shows only under a preload", where=finding.id)
    program = finding.program()
    path = folder / f"{finding.id}.fg"
    folder.mkdir(parents=True, exist_ok=True)
    if content_hash(program) in {content_hash(parse_file(str(p))) for p in folder.glob("**/*.fg")}:
        return None
    # The description first: a program without one is an error of the whole folder.
    write_whole(path.with_suffix(".toml"), description(finding))
    write_whole(path, format(program))
    return path


def description(finding: Finding) -> str:
    """The TOML beside the program."""
    release = Version(Version(finding.triage["torch"]).base_version)
    head = {"title": finding.triage["title"]}
    if finding.triage.get("known"):
        head["issue"] = finding.triage["known"]
    expect = {
        "torch": f">={release.major}.{release.minor}", "target": finding.target, "verdict": label(finding.failure),
    }  # fmt: skip
    lines = [toml_line(*item) for item in head.items()]
    return "\n".join([*lines, "", "[[expect]]", *(toml_line(*item) for item in expect.items()), ""])
