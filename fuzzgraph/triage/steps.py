"""The steps that a finding goes through, in order. Each records what it learned in finding.json and is skipped where it
is recorded already, so triage can be killed at any moment and go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fuzzgraph.errors import FuzzgraphError, UsageError
from fuzzgraph.execution.protocol import Job, Outcome
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.text import format
from fuzzgraph.torch_compat import installed_torch

from . import rank, trace
from .ablation import ablate, settings_for
from .bisection import bisect
from .folder import PROGRAM
from .known import KnownIssues
from .ladder import find_rung
from .matching import Shows
from .node import first_node
from .record import ORIGINAL, Finding
from .reproducer import BUG, script
from .signature import core, cores
from .workshop import Workshop


@dataclass(frozen=True)
class Plan:
    """What the user asked for. `seconds` limits the minimization of one finding, 0 does not."""

    seconds: float = 0.0
    minimize: bool = True
    known: KnownIssues = KnownIssues()  # noqa: RUF009 - frozen


class Triage:
    """One finding on its way through the steps. `say` gets a line for each step that begins."""

    def __init__(self, finding: Finding, workshop: Workshop, plan: Plan, say: Callable[[str], None]) -> None:
        self.finding, self.workshop, self.plan, self.say = finding, workshop, plan, say
        self.key = finding.triage.get("deflake", {}).get("key") or core(finding.failure)

    def run(self) -> None:
        """All steps that are not done. Raises FuzzgraphError where the finding cannot be run at all."""
        for file in self.finding.preload:
            if not Path(file).is_file():
                raise UsageError("its preload is not there", where=f"{self.finding.path}: {file}")
        for name, step in (
            ("deflake", self.deflake), ("minimize", self.minimize), ("ladder", self.ladder), ("bisect", self.bisect),
            ("node", self.first_node), ("ablation", self.ablate), ("signature", self.judge), ("repro", self.reproduce),
        ):  # fmt: skip
            if name not in self.finding.triage and (name == "deflake" or self.worth(name)):
                self.say(name)
                step()
                self.finding.save()

    def worth(self, step: str) -> bool:
        """Whether a step can say anything: what did not come again is only ranked and reported."""
        if step == "minimize" and not self.plan.minimize:
            return False
        return self.confirmed or step in ("signature", "repro")

    @property
    def confirmed(self) -> bool:
        return bool(self.finding.triage["deflake"]["verdict"] != "not confirmed")

    # Steps

    def deflake(self) -> None:
        """Run it five times. The failure may come under another key than the campaign wrote down (another torch, an
        older fuzzgraph): then one of the same oracle and kind counts, and the key is noted."""
        from fuzzgraph.minimize.deflake import deflake

        program = self.start()
        found = deflake(program, lambda programs: self.execute(programs, None), _keys)
        lost = next((o for o in found.outcomes if o.status == "lost"), None)
        if lost is not None:
            reason = lost.error.message if lost.error else "the harness lost it"
            raise FuzzgraphError(f"cannot be run: {reason}", where=str(self.finding.path))
        self.key = key = self._closest([str(key) for key in found.hits])
        self.finding.triage["torch"] = installed_torch()
        self.finding.triage["deflake"] = {
            "verdict": found.verdict(key), "key": key, "hits": found.hits.get(key, 0), "runs": found.runs,
        }  # fmt: skip
        self.note_failure(found.outcomes, program)

    def start(self) -> Program:
        """The program as the campaign found it; where what failed was a variant of it, that variant."""
        program = self.finding.program(original=True)
        variant = self.finding.seen.variant
        return self.workshop.variants.program_of(program, variant) if variant else program

    def _closest(self, keys: Sequence[str]) -> str:
        """The finding's key, or the one that took its place."""
        failure = self.finding.failure
        like = [k for k in keys if k.startswith(f"{failure.oracle}|{failure.kind}|")]
        like += [k for k in keys if k.split("|")[1] == failure.kind]
        return self.key if self.key in keys or not like else like[0]

    def minimize(self) -> None:
        from fuzzgraph.minimize.minimizer import minimize
        from fuzzgraph.minimize.trials import Budget

        program = self.start()
        asked = {self.finding.failure.oracle, "crash"}
        flaky = self.finding.triage["deflake"]["verdict"] == "flaky"
        done = minimize(
            program, lambda programs: self.execute(programs, asked), self.workshop.tools, self.key, _keys,
            budget=Budget(seconds=self.plan.seconds), repeats=3 if flaky else 1,
        )  # fmt: skip
        if done.stopped == "interrupted":
            raise KeyboardInterrupt
        self.note_failure(self.execute([done.program], None), done.program)
        # The program first: were the note written and the program not, the original would be lost.
        self.finding.write(ORIGINAL, format(program))
        self.finding.write(PROGRAM, format(done.program))
        for later in ("ladder", "bisect", "node", "ablation", "signature", "repro"):  # of the program as it was found
            self.finding.triage.pop(later, None)
        self.finding.triage["minimize"] = {
            "before": program.size, "after": done.program.size, "executions": done.executions,
            "seconds": round(done.seconds, 1), "stopped": done.stopped,
        }  # fmt: skip

    def ladder(self) -> None:
        rung = find_rung(self.run_jobs, self.job(), Shows(self.finding.failure))
        self.finding.triage["ladder"] = {"rung": rung.name, "steps": [asdict(step) for step in rung.steps]}

    def bisect(self) -> None:
        self.finding.triage["bisect"] = asdict(bisect(self.run_jobs, self.job(), [self.finding.failure]))

    def first_node(self) -> None:
        rung = self.finding.triage["ladder"]["rung"]
        self.finding.triage["node"] = asdict(first_node(self.run_jobs, self.job(), self.finding.failure, rung))

    def ablate(self) -> None:
        rung = self.finding.triage["ladder"]["rung"]
        rows = ablate(self.run_jobs, self.job(), Shows(self.finding.failure), settings_for(rung))
        self.finding.triage["ablation"] = [asdict(row) for row in rows]

    def judge(self) -> None:
        conclude(self.finding, self.plan.known)

    def reproduce(self) -> None:
        """Write repro.py for the minimized program, and run it as a user would, with torch's trace on."""
        finding, failure = self.finding, self.finding.failure
        text = script(
            finding.program(), self.workshop.book, [failure], title=finding.triage["title"],
            details=_details(finding), target=finding.target,
        )  # fmt: skip
        finding.write(trace.SCRIPT, text)
        if finding.preload or finding.target.endswith("cuda"):
            why = "a preload" if finding.preload else f"the target {finding.target}"
            note = f"It needs {why}, which a plain script has not: replay it by `fuzzgraph run`."
            finding.triage["repro"] = {"status": None, "output": "", "artifacts": [], "note": note}
            return
        ran, added = trace.run_traced(finding.path)
        note = "" if ran.status == BUG or not self.confirmed else (
            f"**`repro.py` does not show it by itself** ({ran.word}, exit status {ran.status}): "
            "replay it by `fuzzgraph run`."
        )  # fmt: skip
        finding.triage["repro"] = {"status": ran.status, "output": ran.output, "artifacts": added, "note": note}

    # Helpers

    def job(self) -> Job:
        """The minimized program, judged by the oracle that it failed and by what tells other failures."""
        asked = {self.finding.failure.oracle, "crash"}
        return self.workshop.job(self.finding.id, self.finding.program(), self.finding.target, asked)

    def run_jobs(self, jobs: Sequence[Job]) -> list[Outcome]:
        return self.workshop.run(jobs, self.finding.preload)

    def execute(self, programs: Sequence[Program], oracles: set[str] | None) -> list[Outcome]:
        return self.workshop.run_programs(programs, self.finding.target, self.finding.preload, oracles)

    def note_failure(self, outcomes: Sequence[Outcome], program: Program) -> None:
        """The failure as it showed, and the versions it showed with."""
        for outcome in outcomes:
            for failure in outcome.failures:
                if core(failure) == self.key:
                    self.finding.triage["failure"] = asdict(failure)
                    self.finding.data["versions"] = dict(outcome.versions)
                    return


def conclude(finding: Finding, known: KnownIssues) -> None:
    """What follows from what was recorded: facts, final signature, title, rank, known issue. Made anew in every run,
    since it costs nothing and users edit their known issues."""
    program, failure, triage = finding.program(), finding.failure, finding.triage
    triage.update(rank.facts(program))
    triage["signature"] = rank.final_signature(failure, triage)
    triage["title"] = rank.title(failure, triage)
    triage["severity"] = rank.SEVERITIES[rank.severity(failure, program)]
    triage["rank"] = rank.rank(failure, program, triage["deflake"]["verdict"])
    issue = known.find(failure, program, [triage["signature"]])
    # As it was found, it may have been another program's failure beside that of the original.
    issue = issue or known.find(finding.seen, finding.program(original=True))
    triage["known"] = None if issue is None else issue.link


def _keys(outcome: Outcome, program: Program) -> list[str]:
    return cores(outcome.failures)


def _details(finding: Finding) -> str:
    """What is wrong, in the script's docstring."""
    failure, triage = finding.failure, finding.triage
    detail = failure.detail if failure.oracle not in ("crash",) else f"{failure.exc_type}: {failure.message}"
    versions = ", ".join(f"{k} {v}" for k, v in sorted(finding.data["versions"].items()) if k != "torch_git")
    rung = triage.get("ladder", {}).get("rung", "")
    found: dict[str, Any] = triage.get("bisect") or {}
    where = [f"First failing part: {rung}" + (f" ({found['subsystem']}: {found['info']})" if found.get("subsystem")
             else "")] if rung else []  # fmt: skip
    return "\n".join([*_wrapped(detail[:600]), *where, f"Seen with {versions}."])


def _wrapped(text: str, width: int = 110) -> list[str]:
    from textwrap import wrap

    return [line for part in text.strip().splitlines() for line in wrap(part, width)]

