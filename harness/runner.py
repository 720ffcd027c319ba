"""One job in the child: reference, subject, verdict."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from .. import oracles
from ..execution.protocol import ErrorInfo, Failure, Job, Outcome
from ..oracles import crash, missed_error
from ..oracles._exceptions import describe, is_out_of_memory
from ..oracles._types import Run
from . import targets
from .cover import no_compiler, savings
from .failures import error_info
from .hooks import Hooks
from .program import SEED, Loaded, OptionError, Stop, Variant, identity, patched, run_once
from .tools import Tools
from .units import Kernel, Unit

# With fullgraph the compiler may refuse: that is what the option asks for.
REFUSALS = {"Unsupported", "UserError", "UncapturedHigherOrderOpError", "FailOnRecompileLimitHit", "RecompileError"}
# An operator that takes functions needs all of them in one graph. Where Dynamo cannot give it that, it refuses in eager
# too, where it compiles by itself; programs call their functions directly there.
ALWAYS_REFUSALS = {"UncapturedHigherOrderOpError"}
# Limits that torch states itself: gradients of gradients through what AOTAutograd compiled.
LIMITS = re.compile(r"does not currently support double backward|compiled with non-empty donated buffers")


@dataclass
class Context:
    """What all jobs of a process share."""

    hooks: Hooks
    versions: dict[str, str] = field(default_factory=dict)
    memory: int = 0
    reset_modules: tuple[str, ...] = ()
    kernels: list[Kernel] = field(default_factory=list)  # C++ that the running program would have had compiled
    unit: Unit | None = None  # kernels of the programs to come, compiled


def execute(job: Job, enter: Callable[[str], None], context: Context) -> Outcome:
    """Run a job to its verdict. `enter` is told each phase, for whoever has to explain this process's death."""
    target = targets.load(job.target)
    try:
        loaded = Loaded.of(job.source, job.options, target.DEVICE)
    except (SyntaxError, ValueError) as e:
        return Outcome(job.id, "invalid", "load", error=error_info(e))
    enter("reference")
    reference = run_once(loaded, identity)
    if reference.error is not None and not (job.expects_error and _may_be_missed(reference)):
        return _refused(job, reference.error)
    enter("subject")
    subject = Subject(job, loaded, target, context)
    try:
        run = subject.run()
    except OptionError as e:
        return Outcome(job.id, "invalid", "reference", error=error_info(e))
    except Stop:
        return Outcome(job.id, "ok", "cpp")
    except SystemExit as e:
        return _exit(job, e)
    if reference.error is not None:
        return _missed(job, reference, run, Tools(loaded, subject, reference))
    if run.error is not None and _harmless(subject, run.error):
        return Outcome(job.id, "ok", describe(run.error).stage, error=error_info(run.error))
    if run.error is not None and is_out_of_memory(run.error):
        failure = crash.failure(run.error, "memory")
        return Outcome(job.id, "memory", failure.stage, (failure,), error=error_info(run.error))
    if job.tier == "cover" and run.error is None:
        return Outcome(job.id, "ok")
    enter("judge")
    return _judge(job, reference, run, Tools(loaded, subject, reference))


class Subject:
    """Makes compiled runs of one program."""

    def __init__(self, job: Job, loaded: Loaded, target: Any, context: Context) -> None:
        self.job, self.loaded, self.target, self.context = job, loaded, target, context

    def of(self, loaded: Loaded) -> Subject:
        """The same for another program."""
        return Subject(replace(self.job, source=loaded.source), loaded, self.target, self.context)

    def refuses(self, error: BaseException) -> bool:
        """Whether the compiler declines what fullgraph, an operator that takes functions, or a second gradient asks of
        it."""
        refusals = REFUSALS if self.job.options.get("fullgraph") else ALWAYS_REFUSALS
        found = describe(error)
        return not refusals.isdisjoint(found.causes) or LIMITS.search(found.text) is not None

    def run(self, extra_config: dict[str, Any] | None = None, seed: int = SEED) -> Run:
        """Raises OptionError, Stop and SystemExit; what else the program or the compiler raises is in the result."""
        options = self.job.options
        kwargs = {k: options[k] for k in ("dynamic", "fullgraph", "mode") if options.get(k) is not None}
        config = {**(options.get("config") or {}), **(extra_config or {})}
        with contextlib.ExitStack() as stack:
            stack.enter_context(patched(config))
            if self.job.tier == "cover":
                stack.enter_context(no_compiler(self.context.hooks, self.context.kernels))
            elif self.job.kernels and self.context.unit is not None:
                stack.enter_context(self.context.unit.serving(self.context.hooks))
                stack.enter_context(savings(self.context.hooks))
            return run_once(self.loaded.under(config), self.target.wrap(kwargs), Variant(seed=seed))


def _refused(job: Job, error: BaseException) -> Outcome:
    """The reference raised: the program is at fault."""
    status = "memory" if is_out_of_memory(error) else "invalid"
    return Outcome(job.id, status, "reference", error=error_info(error))


def _may_be_missed(reference: Run) -> bool:
    """Whether it is the calls that raised, rather than what prepares them."""
    error = reference.error
    return reference.began and isinstance(error, Exception) and not is_out_of_memory(error)


def _missed(job: Job, reference: Run, run: Run, tools: Tools) -> Outcome:
    """The reference raised, as it should: so must the subject."""
    assert reference.error is not None
    failures = missed_error.judge(job.plans.get("missed_error") or {}, reference, run, tools)
    error = error_info(run.error if run.error is not None and failures else reference.error)
    if failures:
        return Outcome(job.id, "failure", failures[0].stage, tuple(failures), error=error, missed=True)
    return Outcome(job.id, "invalid", "reference", error=error, missed=True)


def _exit(job: Job, error: SystemExit) -> Outcome:
    """The compiled program left by SystemExit where eager did not."""
    code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    return Outcome(job.id, "exit", "run", (crash.failure(error, "exit"),), error=error_info(error), code=code)


def _harmless(subject: Subject, error: BaseException) -> bool:
    """Exceptions of the subject that say nothing against the compiler."""
    # After stand-in kernels, values are made up: only what the compiler itself raises counts.
    return subject.refuses(error) or (subject.job.tier == "cover" and not describe(error).compiling)


def _judge(job: Job, reference: Run, subject: Run, tools: Tools) -> Outcome:
    """Ask each planned oracle; an unstable reference overrules all but exceptions.

    Those that compile further programs come last, and only where the others found nothing: variants of a program that
    fails fail alike.
    """
    plans = job.plans or {name: {} for name in oracles.names()}
    found: list[Failure] = []
    for name, plan in sorted(plans.items(), key=lambda item: item[0] in oracles.expensive()):
        if (job.tier == "compare" or name == "crash") and not (found and name in oracles.expensive()):
            found += oracles.load(name).judge(plan, reference, subject, tools)
    error = error_info(subject.error) if subject.error is not None else None
    stage = describe(subject.error).stage if subject.error is not None else "done"
    status = "failure" if found else "unstable" if tools.instability else "ok"
    if status == "unstable":
        error = ErrorInfo("Unstable", str(tools.instability))
    return Outcome(job.id, status, stage, tuple(found), error=error, notes=tuple(tools.notes))
