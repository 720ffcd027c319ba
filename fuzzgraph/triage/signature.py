"""The key of a failure: equal for failures that are most likely one bug."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from fuzzgraph.execution.protocol import Failure
from fuzzgraph.ir.program import Program, op_of
from fuzzgraph.ir.types import TensorType

# The innermost frames of a stack say where it broke; those further out say how the program got there. Three: the
# innermost alone is often a shared helper that raises for many callers.
FRAMES = 3
CPP = "cpp"


@dataclass(frozen=True)
class Signature:
    """`text` is the key, `title` one line for people, `kind` the oracle and what it saw."""

    kind: str
    text: str
    title: str

    @property
    def id(self) -> str:
        """A name for the finding's folder: a function of the key alone."""
        words = re.sub(r"[^a-z0-9]+", "-", self.kind.lower()).strip("-")
        return f"{words}-{hashlib.sha256(self.text.encode()).hexdigest()[:10]}"


def signature(failure: Failure, program: Program) -> Signature:
    """Crashes go by exception type, stage and innermost torch frames; C++ compile errors by the compiler's first error
    line, since their frames are all alike; missed errors by what eager raised; everything else (wrong values, deaths
    without a stack) by what the oracle saw, the set of operators, and the dtypes that go in.
    """
    kind = f"{failure.oracle} {failure.kind}" if failure.kind != failure.oracle else failure.kind
    if failure.oracle == "missed_error":
        # What eager says names the operator; all that the program has besides says nothing.
        said = _raised(failure.detail)
        title = f"{failure.message}: {said.partition(': ')[2] or said}"
        return Signature(kind, f"{kind}|{failure.message}|{said}", _short(title))
    if failure.stage == CPP and failure.message:
        line = normal_line(failure.message)
        return Signature(kind, f"{kind}|{failure.exc_type}|{CPP}|{line}", f"C++ compile error: {line}")
    if failure.frames:
        frames = [normal_frame(frame) for frame in failure.frames[-FRAMES:]]
        title = f"{failure.exc_type} in {_stage(failure)} ({frames[-1]}): {failure.message}"
        return Signature(kind, "|".join([kind, failure.exc_type, failure.stage, *frames]), _short(title))
    operators, dtypes = operator_set(program), input_dtypes(program)
    where = "|".join([kind, failure.exc_type, failure.stage])
    what = failure.exc_type or kind
    title = f"{what} in {_stage(failure)}: {' '.join(operators)} on {' '.join(dtypes) or 'no tensor'}"
    return Signature(kind, f"{where}|{' '.join(operators)}|{' '.join(dtypes)}", _short(title))


def _raised(detail: str) -> str:
    """Eager's message, of a failure of the missed_error oracle, without dtypes and numbers."""
    said = detail.removeprefix("eager raises ").split("; compiled: ")[0].strip().split("\n")[0]
    said = re.sub(r" for '\w+'$", "", said)
    return re.sub(r"\d+", "#", re.sub(_DTYPE, "T", said))[:120]


def _stage(failure: Failure) -> str:
    """For people: a process that died says only that it compiled or ran."""
    return "the compiled run" if failure.stage == "subject" else failure.stage


def core(failure: Failure) -> str:
    """What stays of a failure's key while a program is reduced: neither its operators nor its dtypes, which change.

    Oracle, kind, stage, exception type, and for crashes the innermost torch frames or the C++ compiler's first error
    line; then the message, which for wrong values is the kind of difference, without dtypes.
    """
    parts = [failure.oracle, failure.kind, failure.stage, failure.exc_type]
    if failure.stage == CPP and failure.message:
        return "|".join([*parts, _without_cpp_types(normal_line(failure.message))])
    if failure.frames:
        parts += [normal_frame(frame) for frame in failure.frames[-FRAMES:]]
    return "|".join([*parts, _without_dtypes(failure.message)])


def cores(failures: Sequence[Failure]) -> list[str]:
    """One for each distinct key, in the order of the failures."""
    return list(dict.fromkeys(map(core, failures)))


def signatures(failures: Sequence[Failure], program: Program) -> list[Signature]:
    """One for each distinct key, in the order of the failures. Where a FakeTensor and what is compiled of it are
    wrong in the same way, that is one: what users see, of the compiled one."""
    compiled = {(f.kind, f.message) for f in failures if f.oracle == "metadata"}
    found: dict[str, Signature] = {}
    for failure in failures:
        if failure.oracle == "fake" and (failure.kind, failure.message) in compiled:
            continue
        made = signature(failure, program)
        found.setdefault(made.text, made)
    return list(found.values())


def operator_set(program: Program) -> list[str]:
    return sorted({op_of(node) for node in program.nodes()})


def form_set(program: Program) -> list[str]:
    """The Python forms of its regions: name, then arguments."""
    regions = [region for function in program.functions for region in function.regions]
    return sorted({" ".join([region.form, *map(str, region.args)]) for region in regions})


def input_dtypes(program: Program) -> list[str]:
    specs = (*program.inputs, *program.constants)
    return sorted({spec.type.dtype for spec in specs if isinstance(spec.type, TensorType)})


def normal_frame(frame: str) -> str:
    """Without line numbers, which move between versions, and the counters of generated code."""
    return re.sub(r":\d+(?=:|$)|(?<=<eval_with_key>)\.\d+", "", frame)


def normal_line(line: str) -> str:
    """A compiler's error line without paths, positions, and the numbers of temporaries; types stay as they are."""
    line = line.strip().splitlines()[0] if line.strip() else ""
    line = re.sub(r"^.*?:\d+:\d+: ", "", line)
    line = re.sub(r"(?:/[\w.+-]+)+/", "", line)
    line = line.replace("\u2018", "'").replace("\u2019", "'")
    return re.sub(r"\b(tmp|buf|arg|x|i|ks|ps|cpp_fused\w*?_)\d+\b", r"\1N", line)


_DTYPE = r"(?:torch\.)?\b(bool|u?int(?:8|16|32|64|#)|b?float(?:16|32|64|#)|complex(?:64|128|#))(?!\w)"
_WIDTHS = {"bool": ("bool", 1), "bfloat16": ("float", 16)}
_CPP_TYPE = (
    r"\b(?:(?:unsigned|signed) )?(?:short int|long long int|long int|u?int(?:8|16|32|64)_t|char|short|int|long|float"
    r"|double|bool|c10::\w+|at::BFloat16|at::Half|half|bfloat16)\b(?: int\b)?"
)


def _without_dtypes(message: str) -> str:
    """The message with how two dtypes differ in place of which they are; no names, operators, or quoted code."""
    change = re.fullmatch(rf"{_DTYPE} became {_DTYPE}", message)
    if change:
        (a, bits), (b, more) = _class(change.group(1)), _class(change.group(2))
        wider = "" if bits == more else "wider " if more > bits else "narrower "
        return f"{a} became {wider}{b}"
    message = re.sub(r"\b(?:aten|prims|prim|inductor)(?:\.\w+|::\w+)+", "OP", message)
    message = re.sub(r"\[[^\[\]]*\]|\([^()]*\)", "", message)
    return " ".join(re.sub(_DTYPE, "T", message).split())[:80]


def _class(dtype: str) -> tuple[str, int]:
    if dtype in _WIDTHS:
        return _WIDTHS[dtype]
    bits = re.search(r"\d+", dtype)
    return re.sub(r"\d+|#", "", dtype).removeprefix("u"), int(bits.group()) if bits else 0


def _without_cpp_types(line: str) -> str:
    return re.sub(_CPP_TYPE, "T", line)


def _short(text: str, limit: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
