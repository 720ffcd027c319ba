"""The folder that `check --report` writes of a file that diverges: what PyTorch's bug form asks for, a reproducer."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from fuzzgraph.render import check, quote
from fuzzgraph.triage.report import collect_env

from .checker import Result

REPRODUCER, REPORT, VERDICT = "repro.py", "report.md", "verdict.json"


def write(result: Result, folder: Path, timeout: float) -> Path:
    """Write `folder/NAME-ORACLE` and return it; what is there of an earlier report is replaced."""
    verdict = result.verdict
    made = folder / f"{Path(verdict.file).stem}-{verdict.oracle}"
    made.mkdir(parents=True, exist_ok=True)
    contents = {
        REPRODUCER: reproducer(result, timeout),
        REPORT: report(result),
        VERDICT: json.dumps({**verdict.to_data(), "versions": dict(result.outcome.versions)}, indent=2) + "\n",
        Path(verdict.file).name: result.checked.text,
    }
    for name, text in contents.items():
        (made / name).write_text(text, encoding="utf-8")
    return made


def reproducer(result: Result, timeout: float) -> str:
    """The file and a main that needs torch only: exit status 1 while compiled code differs, 0 when it does not."""
    difference = quote.source("difference", check)
    if not result.checked.facts["SIGNBIT"]:
        start = difference.index("    minus = ")
        difference = difference[:start] + difference[difference.index("    bits = ") :]
    excuse = "        if not as_good(eager.detach(), compiled.detach(), wide):\n    "
    assert excuse in difference
    difference = difference.replace(excuse, "").replace(", wide=None", "")
    main = resources.files("fuzzgraph.check.adapters").joinpath("main.py").read_text(encoding="utf-8")
    parts = [result.checked.source.rstrip(), "import torch  # noqa: E402", difference, main]
    return "\n\n\n".join(parts).replace("fuzzgraph_main(limit=300)", f"fuzzgraph_main(limit={timeout:g})")


def report(result: Result) -> str:
    """Markdown in the order of the bug form: what happens, error log, reproducer, ablation, versions."""
    verdict, outcome = result.verdict, result.outcome
    parts = [f"# {Path(verdict.file).name}: {verdict.oracle} ({verdict.rung or 'no rung'})", "## Describe the bug"]
    parts += [verdict.detail]
    others = [f"- {f.oracle} {f.kind}: {f.message}" for f in outcome.failures if f is not verdict.failure]
    if others:
        parts += ["Seen besides:", "\n".join(others)]
    if result.rung is not None:
        rows = [[step.target, "fails" if step.shows else "fine", step.what] for step in result.rung.steps]
        parts += [f"First failing part: {result.rung.text}.", table(["target", "", "what it shows"], rows)]
    if outcome.error is not None:
        trace = outcome.error.traceback or f"{outcome.error.type}: {outcome.error.message}"
        parts += ["## Error logs", fenced(trace)]
    if outcome.output.strip():
        parts += ["## Output", fenced(outcome.output[-4000:])]
    parts += ["## Minified repro", fenced(result.checked.text, "python")]
    if result.rows:
        rows = [[row.setting, row.verdict, row.detail] for row in result.rows]
        parts += ["## Ablation", table(["setting", "verdict", ""], rows)]
    return "\n\n".join([*parts, "## Versions", fenced(collect_env())]) + "\n"


def fenced(text: str, language: str = "") -> str:
    return f"```{language}\n{text.strip()}\n```"


def table(head: list[str], rows: list[list[str]]) -> str:
    cells = [[" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *cells])
