"""report.md: a finding in the order of PyTorch's bug form for torch.compile, ready to be pasted."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from . import trace
from .ablation import FAILS, GONE, NOT_HERE
from .bisection import Bisection
from .ladder import PARTS
from .node import FirstNode
from .rank import search_words
from .record import Finding

REPORT = "report.md"
TRACKER = "https://github.com/pytorch/pytorch/issues?q="
# Of an error log, what a reader needs: the innermost lines.
LOG_LINES = 60


def report(finding: Finding, versions: str) -> str:
    """`versions` is what collect_env printed. Says of each step that was not done that it was not."""
    parts = [
        _head(finding), _describe(finding), _logs(finding), _repro(finding), _ablation(finding), _further(finding),
        _versions(versions),
    ]  # fmt: skip
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _head(finding: Finding) -> str:
    triage, failure = finding.triage, finding.failure
    words = "\n".join(f"- [`{q}`]({TRACKER}is%3Aissue+{_quoted(q)})" for q in search_words(failure, triage))
    known = triage.get("known")
    lines = ["Search the tracker first:", "", words, "", f"Title: **{triage.get('title', finding.data['title'])}**", "",
             f"Labels: `oncall: pt2`, `topic: fuzzer`. Severity: {triage.get('severity', 'not ranked')}."]  # fmt: skip
    if known:
        lines += ["", f"**Known: {known}.** Do not file it again."]
    if triage.get("group", finding.id) != finding.id:
        first = triage["group"]
        lines += ["", f"**Most likely the same bug as `{first}`**, which ranks higher: compare before filing."]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    from urllib.parse import quote_plus

    return quote_plus(text)


def _describe(finding: Finding) -> str:
    triage, failure = finding.triage, finding.failure
    deflake = triage.get("deflake")
    lines = ["### Describe the bug", "", _sentence(finding), ""]
    if failure.detail and failure.oracle != "crash":
        lines += ["```", failure.detail.strip()[:2000], "```", ""]
    if "ladder" in triage:
        rung = triage["ladder"]["rung"]
        lines += [f"First failing part: **{PARTS.get(rung, rung or 'none in this run')}**.", ""]
        lines += ["| backend | result |", "|---|---|", *(_step(s) for s in triage["ladder"]["steps"]), ""]
    if triage.get("bisect"):
        bisection = Bisection(**triage["bisect"])
        said = f"`{bisection.text}`" if bisection.backend else bisection.text
        lines += [f"`torch._inductor.compiler_bisector`: {said}." + (f" ({bisection.note})" if bisection.backend and
                  bisection.note else ""), ""]  # fmt: skip
    node = FirstNode(**triage["node"]) if triage.get("node") else None
    if node is not None and node.graph:
        lines += [f"First differing node: {node.text}.", ""]
    lines.append(_confirmed(deflake))
    return "\n".join(lines)


def _sentence(finding: Finding) -> str:
    failure, triage = finding.failure, finding.triage
    on = " ".join(f"`torch.{op}`" for op in triage.get("operators", []))
    dtypes = ", ".join(triage.get("dtypes", []))
    program = f"A program of {on or 'no operator'} (inputs: {dtypes or 'none'})"
    if failure.oracle == "crash":
        what = f"{failure.exc_type or failure.kind} at stage {failure.stage}"
        return f"{program} runs in eager mode, and with `torch.compile` ends with {what}: {failure.message}"
    if failure.oracle == "missed_error":
        return f"{program} raises in eager mode, as it should; compiled it does not do the same: {failure.message}."
    if failure.oracle == "fake":
        return f"{program} gives other types on FakeTensors than in eager mode: {failure.message}."
    kinds = {"metadata": "tensors of other metadata", "aliasing": "tensors that share memory otherwise"}
    kind = kinds.get(failure.oracle, "other results")
    kind = "other values in a mutated input" if failure.kind == "mutation" else kind
    return f"{program} gives {kind} with `torch.compile` than in eager mode: {failure.message}."


def _step(step: dict[str, Any]) -> str:
    shows = {True: "**fails**: ", False: "", None: "not tried: "}[step["shows"]]
    backend = "eager, run again" if step["target"] == "identity" else step["target"].replace("-", "_")
    return f"| {backend} | {_cell(shows + step['what'])} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _confirmed(deflake: dict[str, Any] | None) -> str:
    if deflake is None:
        return "Not run again since the campaign saw it."
    times = f"{deflake['hits']} of {deflake['runs']} runs in fresh processes"
    return {"stable": f"Stable: {times}.", "flaky": f"Flaky: {times}.",
            "not confirmed": f"NOT CONFIRMED: {times} showed it."}[deflake["verdict"]]  # fmt: skip


def _logs(finding: Finding) -> str:
    failure, repro = finding.failure, finding.triage.get("repro")
    lines = ["### Error logs", ""]
    if repro is not None and repro["status"] is not None:
        lines += [f"`python repro.py` (exit status {repro['status']}):", "", "```"]
        lines += [_tail(_short_paths(repro["output"], finding.path)), "```"]
    elif failure.oracle == "crash":
        lines += ["```", _tail(_short_paths(failure.detail, finding.path)), "```"]
    if repro is not None and repro.get("note"):
        lines += ["", repro["note"]]
    return "\n".join(lines) if len(lines) > 2 else ""


def _short_paths(text: str, folder: Path) -> str:
    """Without what is of this machine: where packages, scratch folders and findings lie."""
    text = text.replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")
    text = re.sub(r"(?<=\")/[^\s\"]*/(?=site-packages/)", "", text)
    return re.sub(r"/[^\s\"',:]*/fuzzgraph-trace-\w+/", "", text)


def _tail(text: str) -> str:
    lines = text.strip().splitlines()
    cut = [f"[... {len(lines) - LOG_LINES} lines left out ...]"] if len(lines) > LOG_LINES else []
    return "\n".join([*cut, *lines[-LOG_LINES:]]).replace("```", "'''")


def _repro(finding: Finding) -> str:
    made = finding.triage.get("minimize")
    size = ""
    if made is not None:
        size = f", reduced from {made['before']} operators to {made['after']}"
        size += "" if made["stopped"] == "fixpoint" else f" (stopped by: {made['stopped']})"
    try:
        script = (finding.path / trace.SCRIPT).read_text(encoding="utf-8")
    except OSError as error:
        return f"### Minimal repro\n\n{trace.SCRIPT} cannot be read: {error.strerror}"
    note = "" if not finding.preload else (
        f"\nThis finding needs a preload ({', '.join(finding.preload)}): replay it by `fuzzgraph run {finding.path}`.\n"
    )  # fmt: skip
    head = f"`{trace.SCRIPT}` imports torch only; it exits with 1 while the bug exists, 0 once it is fixed, 125 else"
    return f"### Minimal repro\n\n{head}{size}.\n{note}\n```python\n{script.rstrip()}\n```"


def _ablation(finding: Finding) -> str:
    rows = finding.triage.get("ablation")
    if not rows:
        return ""
    rung = finding.triage["ladder"]["rung"]
    order = {GONE: 0, FAILS: 2, NOT_HERE: 3}
    told = sorted(rows, key=lambda row: order.get(row["verdict"], 1))
    gone = [f"`{row['setting']}`" for row in rows if row["verdict"] == GONE]
    first = f"It goes away with {', '.join(gone)}." if gone else "No single setting makes it go away."
    if rung in ("dynamo", "aot", "decomp"):
        first += " Settings of later parts are left out: they cannot matter."
    lines = [f"| `{row['setting']}` | {row['verdict']} | {_cell(row['detail'])} |" for row in told]
    return "\n".join(["### Ablation", "", first, "", "| setting | result | |", "|---|---|---|", *lines])


def _further(finding: Finding) -> str:
    names = {trace.CODE: "the code that Inductor generated", trace.TRACE: "TORCH_TRACE's logs: `tlparse trace/*`",
             "program.fg": "the program: `fuzzgraph run` and `fuzzgraph show` take it",
             "original.fg": "the program as the campaign found it"}  # fmt: skip
    there = [f"- `{name}`: {text}" for name, text in names.items() if (finding.path / name).exists()]
    return "\n".join(["### Attached", "", *there]) if there else ""


def _versions(versions: str) -> str:
    return f"### Versions\n\n<details>\n\n```\n{versions.strip()}\n```\n\n</details>"


@lru_cache(maxsize=8)
def collect_env(python: str = sys.executable) -> str:
    """What `python -m torch.utils.collect_env` prints; where it fails, why. Takes some seconds, once a process."""
    command = [python, "-m", "torch.utils.collect_env"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
                              cwd=Path(python).parent)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{' '.join(command)} failed: {error}"
    return done.stdout if done.returncode == 0 else f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}"

