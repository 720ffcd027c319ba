"""Runs reproducers under another Python: which bugs does its torch still have?"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fuzzgraph.corpus.store import is_campaign
from fuzzgraph.errors import EnvironmentProblem, UsageError

from .folder import DESCRIPTION
from .known import Issue
from .record import Finding, load
from .reproducer import BUG, FIXED, Ran, end_until, run_script
from .trace import SCRIPT

if TYPE_CHECKING:
    from fuzzgraph.grammar import RuleBook

Item = TypeVar("Item")

STILL, GONE, NEW, UNDECIDED = "still there", "fixed", "new", "undecided"
_ASK = "import torch; print(torch.__version__)"


@dataclass(frozen=True)
class Verdict:
    """`before` is the exit status that was recorded, None where none was. `detail`: last words of what is undecided."""

    id: str
    title: str
    verdict: str
    status: int
    before: int | None
    path: str
    detail: str = ""


def torch_of(python: str) -> str:
    """The version of the torch that an interpreter imports. Raises UsageError, EnvironmentProblem."""
    try:
        done = subprocess.run(
            [python, "-c", _ASK], capture_output=True, text=True, errors="replace", timeout=300,
            stdin=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
    except OSError as error:
        raise UsageError(f"does not start: {error.strerror}", where=f"--python {python}") from error
    except subprocess.TimeoutExpired as error:
        raise EnvironmentProblem("takes more than 300 s to import torch", where=python) from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise EnvironmentProblem(f"cannot import torch: {last}", where=python)
    said = done.stdout.strip().splitlines()
    if not said or not said[-1][:1].isdigit():
        raise UsageError("is no Python", where=f"--python {python}", hint="it does not print what it is told to")
    return said[-1]


def scripts(directory: Path) -> list[Path]:
    """Every repro.py at or below the directory. Raises UsageError where there is none, unless it is a campaign's."""
    if not directory.is_dir():
        raise UsageError("no such directory", where=str(directory))
    found = sorted(p for p in directory.glob(f"**/{SCRIPT}") if not p.parent.name.startswith("."))
    if not found and not is_campaign(directory):
        raise UsageError(f"no {SCRIPT} here", where=str(directory), hint="a campaign, its findings, or a finding")
    return found


def verify(
    paths: Sequence[Path], python: str, jobs: int = 1, done: Callable[[Verdict], None] = lambda verdict: None
) -> list[Verdict]:
    """Run each; `done` is told each verdict as it comes. Findings that need more than a plain script are undecided."""

    def one(path: Path) -> Verdict:
        try:
            finding = load(path.parent) if (path.parent / DESCRIPTION).is_file() else None
            made = _verdict(path, finding, python)
        except UsageError as error:  # of one finding: the others are still asked for
            name = path.parent.name
            made = Verdict(name, name, UNDECIDED, 125, None, str(path), str(error))
        done(made)
        return made

    return side_by_side(one, paths, jobs)


def side_by_side(one: Callable[[Item], Verdict], items: Sequence[Item], jobs: int) -> list[Verdict]:
    """In the order of the items. What still runs is ended when this is interrupted."""
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(one, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            end_until(lambda: not wait(futures, timeout=0).not_done)
            raise


def _verdict(path: Path, finding: Finding | None, python: str) -> Verdict:
    id = finding.id if finding else path.parent.name
    data: dict[str, Any] = finding.data if finding else {}
    triage: dict[str, Any] = data.get("triage", {})
    title = triage.get("title") or data.get("title") or path.parent.name
    before = triage.get("repro", {}).get("status")
    if data.get("preload"):
        why = f"it needs a preload ({', '.join(data['preload'])}): use fuzzgraph run"
        return Verdict(id, title, UNDECIDED, 125, before, str(path), why)
    ran = run_script(path, python)
    return Verdict(id, title, word(ran, before), ran.status, before, str(path), _last_words(ran))


def word(ran: Ran, before: int | None) -> str:
    """A bug that was not there when its status was recorded is new."""
    if ran.status == BUG:
        return NEW if before == FIXED else STILL
    return GONE if ran.status == FIXED else UNDECIDED


def _last_words(ran: Ran) -> str:
    if ran.status in (BUG, FIXED):
        return ""
    return " | ".join(line.strip() for line in ran.output.strip().splitlines()[-2:])[:300]


def verify_issues(
    issues: Sequence[Issue], book: RuleBook, python: str, jobs: int = 1,
    done: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Verdict]:  # fmt: skip
    """The same for entries of known issues that carry a program or a script. Raises ProgramError for a bad one."""
    with tempfile.TemporaryDirectory(prefix="fuzzgraph-verify-") as scratch:
        paths = []
        for number, issue in enumerate(issues):
            if issue.program or issue.script:
                # Names are any text: `../x` is none of a folder.
                folder = Path(scratch, str(number))
                folder.mkdir()
                (folder / SCRIPT).write_text(script_of(issue, book), encoding="utf-8")
                paths.append((issue, folder / SCRIPT))

        def one(item: tuple[Issue, Path]) -> Verdict:
            issue, path = item
            ran = run_script(path, python)
            made = Verdict(issue.name, issue.title or issue.link, word(ran, None), ran.status, None, issue.link,
                           _last_words(ran))  # fmt: skip
            done(made)
            return made

        return side_by_side(one, paths, jobs)


def script_of(issue: Issue, book: RuleBook) -> str:
    from fuzzgraph.ir.text import parse
    from fuzzgraph.render.standalone import ALL, standalone

    if issue.script:
        return issue.script
    program = parse(issue.program, None, file=f"issue.{issue.name}")
    checks = replace(ALL, zero_sign=issue.kind == "zero_sign")
    return standalone(program, book, title=f"{issue.title}: {issue.link}", checks=checks)
