"""Where graphs come from: users' commands, files and op_db, each run in a process of its own that records them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import EnvironmentProblem, ProgramError, UsageError
from ..ir.recorded import Recorded, unpack
from ..resources import environment, harness_dir, import_root

GRAPH, PROBLEM = ".graph", ".problem"
# What a file is recorded by, by its suffix.
KINDS = {".pt2": "exported", ".py": "repro"}


class Recording:
    """A temporary folder that processes record graphs to. A context manager."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fuzzgraph-import-"))

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *exc: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def graphs(self) -> Iterator[Recorded]:
        """All that was recorded, in order of time; a damaged recording is one that is refused."""
        for file in sorted(self.folder.glob(f"*{GRAPH}")):
            try:
                yield unpack(file.read_bytes())
            except ProgramError as error:
                yield Recorded("", refused=str(error))

    def problems(self) -> list[str]:
        """What went wrong in the recorder itself, last lines only."""
        texts = [f.read_text(errors="replace").strip() for f in sorted(self.folder.glob(f"*{PROBLEM}"))]
        return list(dict.fromkeys(text.splitlines()[-1] for text in texts if text))

    def reached(self, mark: str) -> bool:
        """Whether some process came so far: python, torch, compile."""
        return any(self.folder.glob(f"*.{mark}"))

    # --- what records

    def run_command(self, command: Sequence[str]) -> int:
        """Run a user's command with torch.compile redirected; its exit status. Its output goes to our stderr.

        Raises UsageError where it cannot be started.
        """
        site = harness_dir() / "recording" / "site"
        path = os.pathsep.join(p for p in (str(site), os.environ.get("PYTHONPATH")) if p)
        added = {"PYTHONPATH": path, "FUZZGRAPH_RECORD": str(self.folder), "FUZZGRAPH_HOME": str(import_root())}
        try:
            process = subprocess.Popen(command, stdout=sys.stderr.fileno(), env={**os.environ, **added})
        except OSError as error:
            raise UsageError(error.strerror or str(error), where=command[0]) from error
        try:
            return process.wait()
        except KeyboardInterrupt:
            # A terminal interrupts it too; whoever interrupts us alone means both.
            process.terminate()
            process.wait()
            raise

    def why_nothing(self) -> str:
        """What a command lacks from which no graph came."""
        if problems := self.problems():
            return f"recording does not work in that Python: {problems[0]}"
        if not self.reached("python"):
            return "it ran no Python that could be recorded (python -I, -E and -S switch that off)"
        if not self.reached("torch"):
            return "it never imports torch"
        if not self.reached("compile"):
            return "it never calls torch.compile, so there is no graph to import"
        return "it calls torch.compile, but never runs what that gives on tensors"

    def run_file(self, path: Path) -> None:
        """Record what an exported program or a minifier's repro holds. Raises UsageError."""
        if not path.is_file():
            raise UsageError("no such file", where=str(path))
        kind = KINDS.get(path.suffix)
        if kind is None:
            hint = "an exported program (.pt2) or a minifier's repro (.py); a script: fuzzgraph import -- python FILE"
            raise UsageError("unknown kind of file", where=str(path), hint=hint)
        self._harness(str(path), kind, str(path.resolve()))

    def run_samples(self, pattern: str, count: int) -> None:
        """Record samples of op_db's operators. Raises UsageError."""
        self._harness("--op-db", "samples", pattern, str(count))

    def _harness(self, where: str, kind: str, *arguments: str) -> None:
        command = [sys.executable, "-m", "fuzzgraph.harness.recording.files", kind, str(self.folder), *arguments]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment())
        last = done.stderr.strip().splitlines()[-1:] or ["it says nothing"]
        if done.returncode == 2:
            raise UsageError(last[0], where=where)
        if done.returncode != 0:
            status = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
            raise EnvironmentProblem(f"its process ended with {status}: {last[0]}", where=where)
