"""What a finding is called, how much it matters, and which findings are most likely one bug. Pure functions of what
triage has recorded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fuzzgraph.execution.protocol import Failure
from fuzzgraph.ir.program import Program
from fuzzgraph.ir.types import DTYPES, TensorType

from .record import Finding
from .signature import CPP, core, form_set, input_dtypes, operator_set

# Most important first: what PyTorch cares for.
SEVERITIES = (
    "silent wrong result", "wrong gradient or lost mutation", "crash on a valid program", "wrong metadata",
    "missed error", "unusual configuration", "eager has no kernel",
)  # fmt: skip
_BY_ORACLE = {
    "value": 0, "randomness": 0, "guard": 0, "equivalence": 0, "device": 0, "gradient": 1, "structure": 1, "crash": 2,
    "metadata": 3, "aliasing": 3, "fake": 3, "missed_error": 4,
}  # fmt: skip
_UNUSUAL = 5
# Of what an operator raises that has no kernel for a dtype.
NO_KERNEL = "NotImplementedError"
# Settings that rank a finding no lower: they change no result by their meaning.
ORDINARY_MODES = (None, "default")


def severity(failure: Failure, program: Program) -> int:
    """Position in SEVERITIES."""
    options = program.options
    if options.config or options.mode not in ORDINARY_MODES:
        return _UNUSUAL
    if failure.oracle == "missed_error" and failure.message.startswith(NO_KERNEL):
        return len(SEVERITIES) - 1  # compiled code does more than eager can
    if failure.oracle == "crash":
        return 2
    if failure.kind in ("mutation", "gradient"):
        return 1
    if failure.kind in ("zero_sign", "dtype", "shape", "stride", "requires_grad"):
        return 3
    return _BY_ORACLE.get(failure.oracle, _UNUSUAL)


def ordinary_inputs(program: Program) -> bool:
    """Whether inputs are such as people have: no edge values, and every tensor packed and alone in its memory."""
    specs = [s for s in (*program.inputs, *program.constants) if isinstance(s.type, TensorType)]
    plain = all(s.values.kind != "edge" and all(_ordinary(v) for v in s.values.params) for s in specs)
    return plain and all(s.type.is_contiguous and getattr(s, "view_of", None) is None for s in specs)


def _ordinary(value: complex) -> bool:
    """Neither infinite nor NaN, nor so large or small that arithmetic on a few of them overflows."""
    return value == 0 or 1e-6 <= abs(value) <= 1e6


def rank(failure: Failure, program: Program, verdict: str) -> list[int | str]:
    """Sorts findings, the most important first: severity, confirmed or not, inputs, size."""
    confirmed = {"stable": 0, "flaky": 1}.get(verdict, 2)
    later = int(confirmed == 2)
    return [later, severity(failure, program), int(not ordinary_inputs(program)), confirmed, program.size]


def dtype_classes(dtypes: Sequence[str]) -> list[str]:
    """bool, int, unsigned, half, float, complex."""
    return sorted({_dtype_class(name) for name in dtypes})


def _dtype_class(name: str) -> str:
    if name in ("f16", "bf16"):
        return "half"
    if name.startswith("u"):
        return "unsigned"
    return DTYPES[name].kind


def final_signature(failure: Failure, triage: dict[str, Any]) -> str:
    """After minimizing. Exceptions go by stage, cause chain and innermost frames (C++ errors by their first line),
    which `core` has; the rest by rung, bisected subsystem and pass, operators, dtype classes and kind of difference."""
    if failure.frames or failure.stage == CPP:
        return "|".join([core(failure), ">".join(failure.causes)])
    from .bisection import Bisection

    rung = triage.get("ladder", {}).get("rung", "")
    found = triage.get("bisect")
    cause = Bisection(**found).key if found else ""
    operators, dtypes = triage.get("operators", []), triage.get("dtypes", [])
    parts = [core(failure), rung, cause, " ".join(operators), " ".join(dtype_classes(dtypes))]
    return "|".join([*parts, *read_by_dynamo(triage)])


def facts(program: Program) -> dict[str, list[str]]:
    return {"operators": operator_set(program), "dtypes": input_dtypes(program), "forms": form_set(program)}


def read_by_dynamo(triage: dict[str, Any]) -> list[str]:
    """The forms of a finding that Dynamo is to blame for; none where it is not."""
    return list(triage.get("forms", [])) if triage.get("ladder", {}).get("rung") == "dynamo" else []


def title(failure: Failure, triage: dict[str, Any]) -> str:
    """As a maintainer would name the issue."""
    rung = triage.get("ladder", {}).get("rung", "")
    head = {"dynamo": "[dynamo] ", "aot": "[aot] ", "decomp": "[decompositions] ", "inductor": "[inductor] "}
    operators = [op.removeprefix("nn.functional.") for op in triage.get("operators", [])]
    what = " + ".join(operators[:4]) + (" ..." if len(operators) > 4 else "") or "program without operators"
    dtypes = ", ".join(_torch_name(name) for name in triage.get("dtypes", [])[:3])
    on = f" on {dtypes}" if dtypes else ""
    forms = ", ".join(read_by_dynamo(triage)[:2])
    inside = f" in {forms.replace('_', ' ')}" if forms else ""
    return _cut(f"{head.get(rung, '')}{what}{on}{inside}: {_trouble(failure)}", 200)


def _torch_name(dtype: str) -> str:
    return str(DTYPES[dtype].torch_dtype).removeprefix("torch.")


def _trouble(failure: Failure) -> str:
    if failure.stage == CPP:
        return f"C++ compile error ({_cut(failure.message, 90)})"
    if failure.kind == "signal":
        return f"compiled code dies by {failure.exc_type}"
    if failure.kind in ("timeout", "memory", "exit"):
        return {"timeout": "does not finish", "memory": "runs out of memory", "exit": "ends the process"}[failure.kind]
    if failure.kind == "exception":
        kind, text = spoken(failure)
        return f"{kind}: {_cut(text, 110)}"
    words = {
        ("value", "value"): "wrong result", ("value", "zero_sign"): "wrong sign of zero",
        ("gradient", "gradient"): "wrong gradient", ("metadata", "stride"): "wrong strides of an output",
        ("metadata", "dtype"): "wrong dtype of an output", ("aliasing", "mutation"): "wrong value of a mutated input",
        ("aliasing", "invented"): "outputs share memory that do not in eager",
        ("aliasing", "lost"): "outputs do not share memory as in eager",
        ("randomness", "repeated"): "random numbers repeat",
        ("randomness", "varied"): "more random numbers than in eager",
        ("randomness", "unequal"): "what is drawn once in eager is drawn twice",
        ("missed_error", "missed"): "error of eager is not raised",
        ("missed_error", "error_type"): "another exception than eager's",
    }  # fmt: skip
    return words.get((failure.oracle, failure.kind), f"wrong {failure.oracle} ({failure.kind})")


def spoken(failure: Failure) -> tuple[str, str]:
    """Type and message of an exception; of the one that Dynamo quotes where it quotes one."""
    quoted = re.fullmatch(r"(\w+)\([\"'](.*?)[\"'],?\)", failure.message)
    return (quoted.group(1), quoted.group(2)) if quoted else (failure.exc_type, failure.message)


def _cut(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def search_words(failure: Failure, triage: dict[str, Any]) -> list[str]:
    """Queries for the tracker, the narrowest first."""
    operators = [op.rpartition(".")[2].strip("_") for op in triage.get("operators", [])]
    ours = [op for op in operators if op not in ("getitem", "clone", "to")][:3] or operators[:3]
    rung = triage.get("ladder", {}).get("rung", "")
    part = {"dynamo": "dynamo", "aot": "aot_eager", "decomp": "decomposition", "inductor": "inductor"}.get(rung, "")
    found = [" ".join([part or "torch.compile", *ours])]
    if failure.exc_type and failure.message:
        kind, text = spoken(failure)
        quoted = re.sub(r"['\"\u2018\u2019]", "", text.split("#")[0])
        found.insert(0, f'{kind} "{" ".join(quoted[:60].split()[:9])}"')
    bisected = triage.get("bisect") or {}
    if bisected.get("subsystem"):
        info = bisected["info"] if bisected["info"] != bisected["subsystem"] else ""
        found.append(" ".join(word for word in (bisected["subsystem"], info, *ours[:1]) if word))
    return found


def assign_groups(findings: Sequence[Finding]) -> None:
    """Set `triage.group` of each: the id of its group's first. In rank order; a finding joins the first group with a
    member that is most likely the same bug. None is dropped."""
    heads: dict[str, list[Finding]] = {}
    for finding in ordered(findings):
        home = next((g for g, members in heads.items() if any(alike(finding, m) for m in members)), finding.id)
        heads.setdefault(home, []).append(finding)
        finding.triage["group"] = home


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """Most important first; what has not been triaged comes last."""
    return sorted(findings, key=lambda f: (0 if "rank" in f.triage else 1, f.triage.get("rank", []), f.id))


def alike(one: Finding, other: Finding) -> bool:
    """Equal final signatures; for exceptions equal stage, type and innermost frame; for the rest the same kind, rung
    and pass (or, without one, subsystem; of Dynamo the forms) with an operator in common."""
    a, b = one.triage, other.triage
    if "signature" not in a or "signature" not in b:
        return False
    if a["signature"] == b["signature"]:
        return True
    f, g = one.failure, other.failure
    if (f.oracle, f.kind, f.stage, f.exc_type) != (g.oracle, g.kind, g.stage, g.exc_type):
        return False
    if f.stage == CPP:
        return core(f) == core(g)
    if f.frames and g.frames:
        return f.frames[-1:] == g.frames[-1:] and core(f).rpartition("|")[2] == core(g).rpartition("|")[2]
    return _cause(a) == _cause(b) and bool(set(a["operators"]) & set(b["operators"]))


def _cause(triage: dict[str, Any]) -> list[str]:
    found = triage.get("bisect") or {}
    return [triage.get("ladder", {}).get("rung", ""), found.get("backend", ""), found.get("subsystem", ""),
            re.sub(r"_?\d+\b", "", found.get("info", "")), *read_by_dynamo(triage)]  # fmt: skip
