"""Runs a finding's reproducer with torch's structured trace on: its exit status, the trace for tlparse, the generated
code that the trace holds."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from .reproducer import Ran, run_script

SCRIPT = "repro.py"
CODE = "output_code.py"
# Folder of the trace, as TORCH_TRACE makes it: what `tlparse` takes.
TRACE = "trace"
# A trace is a few hundred kB; one that is larger is left out, since findings are kept and mailed.
TRACE_BYTES = 20_000_000


def run_traced(folder: Path, python: str = sys.executable) -> tuple[Ran, list[str]]:
    """Run `folder/repro.py` on an empty compile cache; the names of files and folders that were added."""
    with tempfile.TemporaryDirectory(prefix="fuzzgraph-trace-", ignore_cleanup_errors=True) as scratch:
        traces, cache = Path(scratch, TRACE), Path(scratch, "cache")
        ran = run_script(
            folder / SCRIPT, python, {"TORCH_TRACE": str(traces), "TORCHINDUCTOR_CACHE_DIR": str(cache)}
        )
        return ran, keep(traces, folder)


def keep(traces: Path, folder: Path) -> list[str]:
    """Put the logs that say something into the finding's folder, and the generated code that they hold beside it."""
    added = []
    target, code = folder / TRACE, folder / CODE
    shutil.rmtree(target, ignore_errors=True)
    code.unlink(missing_ok=True)
    logs = [p for p in sorted(traces.glob("*.log")) if 0 < p.stat().st_size <= TRACE_BYTES] if traces.is_dir() else []
    found: list[str] = []
    kept = []
    for log in logs:
        text = log.read_text(encoding="utf-8", errors="replace")
        if '"dynamo_start"' in text or '"dynamo_output_graph"' in text:
            kept.append(log)
            found += payloads(text, "inductor_output_code")
    if kept:
        target.mkdir()
        for log in kept:
            shutil.copyfile(log, target / log.name)
        added.append(TRACE)
    if found:
        code.write_text("\n\n# ---- next graph ----\n\n".join(found), encoding="utf-8")
        added.append(CODE)
    return added


def payloads(log: str, name: str) -> list[str]:
    """What a structured log holds under a name: each entry is a line with JSON, its payload the lines after it that
    start with a tab."""
    found: list[str] = []
    lines: list[str] | None = None
    for line in log.splitlines():
        if line.startswith("\t"):
            if lines is not None:
                lines.append(line[1:])
            continue
        if lines is not None:
            found.append("\n".join(lines) + "\n")
        lines = [] if _entry(line, name) else None
    if lines is not None:
        found.append("\n".join(lines) + "\n")
    return found


def _entry(line: str, name: str) -> bool:
    start = line.find("{")
    if start < 0:
        return False
    try:
        entry = json.loads(line[start:])
    except ValueError:  # cut off where the process died
        return False
    return name in entry and "has_payload" in entry

