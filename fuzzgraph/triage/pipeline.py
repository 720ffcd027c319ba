"""Triage of a campaign's findings: side by side, resumable, with a ranked index at the end."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from fuzzgraph.corpus.lock import DirectoryLock
from fuzzgraph.corpus.store import is_campaign
from fuzzgraph.corpus.tree import FINDINGS, write_whole
from fuzzgraph.errors import EnvironmentProblem, FuzzgraphError, UsageError
from fuzzgraph.torch_compat import installed_torch

from . import rank
from .record import Finding, load_all
from .report import REPORT, collect_env, report
from .reproducer import end_until
from .steps import Plan, Triage, conclude
from .workshop import Workshop

INDEX, INDEX_JSON = "index.md", "index.json"
LOCK = "triage.lock"
STOPPING = 2.0  # seconds that an interrupted triage waits for its threads
Say = Callable[[str], None]


@dataclass
class Result:
    """`findings` in rank order; `errors` are what could not be triaged, with where and why."""

    findings: list[Finding]
    errors: list[FuzzgraphError] = field(default_factory=list)


def triage(
    directory: Path, plan: Plan, *, jobs: int = 1, timeout: float = 60.0, only: Sequence[str] = (), again: bool = False,
    say: Say = lambda line: None,
) -> Result:  # fmt: skip
    """Take all findings of a campaign (or a folder of findings) through the steps that they have not been through.
    `again`: through all of them, from the program as it was found. Raises UsageError, EnvironmentProblem."""
    folder = findings_folder(directory)
    with ExitStack() as stack:
        lock = DirectoryLock(folder, LOCK, "triage")
        lock.acquire()
        stack.callback(lock.release)
        findings, errors = load_all(folder)
        chosen = [f for f in findings if not only or any(name in f.id for name in only)]
        if only and not chosen:
            raise UsageError("no such finding", where=", ".join(only), hint=f"see {folder}")
        for finding in chosen:
            if again:
                finding.data.pop("triage", None)
        begin_anew(chosen, installed_torch(), say)
        errors += _all(chosen, plan, jobs, timeout, say)
        # Reports of all: another finding may have become the first of a group.
        done = [f for f in findings if "signature" in f.triage and "problem" not in f.triage]
        for finding in done:
            conclude(finding, plan.known)
        rank.assign_groups(findings)
        for finding in done:
            _finish(finding, plan)
        ordered = rank.ordered(findings)
        write_index(folder, ordered)
        return Result(ordered, errors)


def begin_anew(findings: Sequence[Finding], torch: str, say: Say) -> None:
    """Forget what another torch showed: half of it with one and half with another would describe neither."""
    for finding in findings:
        before = finding.triage.get("torch", torch)
        if before != torch:
            say(f"{finding.id}: was triaged with torch {before}, begins anew with {torch}")
            finding.data.pop("triage")


def findings_folder(directory: Path) -> Path:
    """The folder of findings that the user means: a campaign's directory, or its findings."""
    for folder in (directory / FINDINGS, directory):
        if folder.is_dir() and any(folder.glob("*/finding.json")):
            return folder
    if not directory.is_dir():
        raise UsageError("no such directory", where=str(directory))
    if is_campaign(directory):  # one without findings yet: nothing to report, which is no mistake
        (directory / FINDINGS).mkdir(exist_ok=True)
        return directory / FINDINGS
    raise UsageError("no findings here", where=str(directory), hint="a campaign's directory, or a folder of findings")


def _all(findings: Sequence[Finding], plan: Plan, jobs: int, timeout: float, say: Say) -> list[FuzzgraphError]:
    """Every thread has a workshop of its own and takes the next finding when it is done with one."""
    waiting: SimpleQueue[Finding] = SimpleQueue()
    for finding in findings:
        waiting.put(finding)
    errors: list[FuzzgraphError] = []
    fatal: list[BaseException] = []

    def work() -> None:
        try:
            with Workshop(timeout, notice=say) as workshop:
                while not fatal:
                    _one(waiting.get_nowait(), workshop, plan, say, errors)
        except Empty:
            return
        except BaseException as error:  # of the environment, or ours: it ends all, and is raised below
            fatal.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(jobs, len(findings)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.5)
    except KeyboardInterrupt as error:
        fatal.append(error)
        end_until(lambda: not any(thread.is_alive() for thread in threads), STOPPING)
        raise
    if fatal:
        raise fatal[0]
    return errors


def _one(finding: Finding, workshop: Workshop, plan: Plan, say: Say, errors: list[FuzzgraphError]) -> None:
    try:
        Triage(finding, workshop, plan, lambda step: say(f"{finding.id}: {step}")).run()
        finding.triage.pop("problem", None)
        _finish(finding, plan)
        say(f"{finding.id}: done: {finding.triage['title']}")
    except EnvironmentProblem:
        raise
    except FuzzgraphError as error:
        finding.triage["problem"] = str(error)
        errors.append(error)
    finding.save()


def _finish(finding: Finding, plan: Plan) -> None:
    """What is made anew in every run from what the steps recorded."""
    conclude(finding, plan.known)
    finding.write(REPORT, report(finding, collect_env()))
    finding.save()


def write_index(folder: Path, ordered: Sequence[Finding]) -> None:
    """index.md for people and index.json for scripts, in rank order."""
    write_whole(folder / INDEX, index_text(ordered))
    write_whole(folder / INDEX_JSON, json.dumps(index_rows(ordered), indent=2, ensure_ascii=False) + "\n")


def index_rows(ordered: Sequence[Finding]) -> list[dict[str, Any]]:
    rows = []
    for finding in ordered:
        triage = finding.triage
        rows.append({
            "id": finding.id, "title": triage.get("title", finding.data["title"]), "kind": finding.data["kind"],
            "severity": triage.get("severity"), "verdict": triage.get("deflake", {}).get("verdict"),
            "rung": triage.get("ladder", {}).get("rung"), "subsystem": (triage.get("bisect") or {}).get("subsystem"),
            "operators": triage.get("operators"), "group": triage.get("group", finding.id),
            "known": triage.get("known"), "repro": triage.get("repro", {}).get("status"),
            "problem": triage.get("problem"), "path": str(finding.path),
        })  # fmt: skip
    return rows


def index_text(ordered: Sequence[Finding]) -> str:
    """Groups in rank order, the likely duplicates below their first; known issues and unconfirmed ones at the end."""
    fresh = [f for f in ordered if not f.triage.get("known")]
    firsts = [f for f in fresh if f.triage.get("group", f.id) == f.id or not _in(f.triage["group"], fresh)]
    known = [f for f in ordered if f.triage.get("known")]
    lines = ["# Findings", "", f"{len(ordered)} findings: {len(firsts)} distinct, {len(fresh) - len(firsts)} likely "
             f"duplicates, {len(known)} known.", ""]  # fmt: skip
    heading = None
    for first in firsts:
        if _heading(first) != heading:
            lines += [""] * bool(heading) + [f"## {_heading(first).capitalize()}", ""]
            heading = _heading(first)
        lines.append(_line(first))
        lines += [f"  {_line(f)}" for f in fresh if f is not first and f.triage.get("group") == first.id]
    if known:
        lines += ["", "## Known", "", *(f"{_line(f)}: {f.triage['known']}" for f in known)]
    return "\n".join(lines) + "\n"


def _heading(finding: Finding) -> str:
    """What it is listed under, in an order that agrees with `rank.ordered`."""
    if finding.triage.get("deflake", {}).get("verdict") == "not confirmed":
        return "not confirmed"
    return str(finding.triage.get("severity", "not triaged"))


def _in(id: str, findings: Sequence[Finding]) -> bool:
    return any(f.id == id for f in findings)


def _line(finding: Finding) -> str:
    triage = finding.triage
    title = triage.get("title", finding.data["title"])
    notes = [triage.get("deflake", {}).get("verdict", "not triaged")]
    repro = triage.get("repro", {})
    if repro.get("note"):
        notes.append("repro.py alone does not show it")
    if "problem" in triage:
        notes.append(triage["problem"])
    page = f"{finding.path.name}/{REPORT}" if (finding.path / REPORT).is_file() else finding.path.name
    return f"- [{title}]({page}) ({', '.join(notes)})"
