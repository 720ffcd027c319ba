"""Reads an exception as a signature: where in the compiler, which torch frames, which message without what varies.

By class names and frames only, so it needs no torch and works on every version of it.
"""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from types import TracebackType

from ._failure import Failure

# Innermost torch frames kept for a signature: fewer merges distinct bugs that share a helper, more splits one bug by
# the path that led there.
FRAMES = 6
MESSAGE = 300
TEXT = 4000

_TORCH = re.compile(r"(?:.*/site-packages/|.*/)torch/(.+\.py)$")
# Functions of compile_fx.py that compile; its others are on the stack when compiled code runs.
_COMPILE_FX = ("compile_fx", "_compile_fx", "inner_compile", "fx_codegen", "codegen_and_compile")
_CPP_ERRORS = {"CppCompileError", "CUDACompileError", "XPUCompileError"}
_FOLDER_STAGE = (("_inductor/", "inductor"), ("_functorch/", "aot"), ("_dynamo/", "dynamo"))
# What torch appends to messages: advice, the user's stack, the operands of a lowering.
_TAIL = re.compile(
    r"\n\s*(?:Set TORCHDYNAMO_VERBOSE|from user code|You can suppress|Developer debug context|The above exception"
    r"|args\[\d+\]:|kwargs:|Explanation:|Found from|Hint:|For more details)"
)
# What an operator raised on fake tensors; Dynamo raises anew without its stack, so all such errors have equal frames.
_ON_FAKE = re.compile(r"run FX node with fake tensors: .*: got (\w+\(.*\))$", re.MULTILINE)
# A lowering's exception is raised anew as a LoweringException that says what it was.
_LOWERING = re.compile(r"(\w+): ")
_OUT_OF_MEMORY = re.compile(r"can't allocate memory|CUDA out of memory|std::bad_alloc|Cannot allocate memory")


@dataclass(frozen=True)
class Described:
    """`compiling`: whether the compiler was at work, rather than what it made."""

    exc_type: str
    message: str
    text: str
    stage: str
    frames: tuple[str, ...]
    causes: tuple[str, ...]
    compiling: bool
    traceback: str


def describe(error: BaseException) -> Described:
    """All that a signature and a report need to know of an exception."""
    chain = cause_chain(error)
    stacks = [torch_frames(e.__traceback__) for e in chain]
    frames = [frame for stack in stacks for frame in stack]
    innermost = next((stack for stack in reversed(stacks) if stack), [])
    causes = tuple(type(e).__name__ for e in chain)
    cpp = cpp_errors(chain)
    compiling = cpp is not None or any(_compiles(f) for f in frames)
    stage = "cpp" if cpp is not None else _stage(frames) if compiling else "run"
    text = cpp or str(chain[-1])
    message = cpp.split("\n", 1)[0] if cpp is not None else text
    on_fake = _ON_FAKE.search(text)
    if on_fake is not None:
        message = on_fake.group(1)
        innermost = [*innermost, normalise(message)]
    lines = traceback.format_tb(error.__traceback__) if cpp else traceback.format_exception(error)
    trace = "".join([*lines, *([cpp] if cpp else [])])
    inner = _LOWERING.match(text) if causes[-1] == "LoweringException" else None
    exc_type = inner.group(1) if inner else causes[-1]
    return Described(
        exc_type, normalise(message), text[:TEXT], stage, tuple(innermost[-FRAMES:]), causes, compiling,
        trace[-3 * TEXT :],
    )  # fmt: skip


def cause_chain(error: BaseException) -> list[BaseException]:
    """The exception and what caused it, outermost first. Implicit contexts are left out: they are often incidental."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        if type(current).__name__ in _CPP_ERRORS:  # what it was made from says only that g++ failed
            break
        inner = getattr(current, "inner_exception", None)
        current = inner if isinstance(inner, BaseException) else current.__cause__
    return chain


def torch_frames(tb: TracebackType | None) -> list[str]:
    """"file:function" of each frame in torch's own sources, innermost last."""
    frames = []
    for frame, _ in traceback.walk_tb(tb):
        match = _TORCH.match(frame.f_code.co_filename)
        if match:
            frames.append(f"{match.group(1)}:{frame.f_code.co_name}")
    return frames


def _compiles(frame: str) -> bool:
    file, _, function = frame.rpartition(":")
    if file == "_inductor/compile_fx.py":
        return function.startswith(_COMPILE_FX)
    return file == "_dynamo/convert_frame.py"


def _stage(frames: list[str]) -> str:
    """The part of the compiler that the innermost telling frame belongs to."""
    for frame in reversed(frames):
        if frame.startswith("_dynamo/utils.py"):  # timers and helpers that all parts use
            continue
        for folder, stage in _FOLDER_STAGE:
            if frame.startswith(folder):
                return stage
    return "dynamo"


def stage_of_stack(frames: list[str] | tuple[str, ...]) -> str:
    """The stage of a stack that a fault handler wrote: as `describe` has it, "subject" where it does not tell."""
    if any(_compiles(f) for f in frames):
        return _stage(list(frames))
    return "run" if frames else "subject"


def cpp_errors(chain: list[BaseException]) -> str | None:
    """What the C++ compiler complained of, without its command and its warnings, if that is what happened: first
    errors first, each with the two lines that show it."""
    for error in reversed(chain):
        text = str(error)
        if type(error).__name__ in _CPP_ERRORS or text.startswith("C++ compile error"):
            lines = text.splitlines()
            found = []
            for i, line in enumerate(lines):
                match = re.search(r"(?:fatal )?error: (.*)", line)
                if match:
                    found += [match.group(1), *lines[i + 1 : i + 3]]
            return "\n".join(found) or text[-TEXT:]
    return None


def is_out_of_memory(error: BaseException) -> bool:
    return any(isinstance(e, MemoryError) or _OUT_OF_MEMORY.search(str(e)) for e in cause_chain(error))


def normalise(message: str) -> str:
    """The message without what differs between programs with the same bug: paths, numbers, addresses, advice."""
    text = _TAIL.split(message, maxsplit=1)[0].strip()
    text = re.sub(r"0x[0-9a-fA-F]+", "#", text)
    text = re.sub(r"(?<![\w.])/[^\s:'\",)]+", "<path>", text)
    text = re.sub(r"(?<![A-Za-z_\d])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", "#", text)
    text = re.sub(r"(?<=[A-Za-z_])\d+", "#", text)
    text = re.sub(r"#(?:\s*[,x*]\s*#)+,?", "#", text)
    return " ".join(text.split())[:MESSAGE]


def raised(oracle: str, error: BaseException, before: str = "", kind: str = "exception", variant: str = "") -> Failure:
    """What a compiled run raised, as a failure of that oracle; `before` goes before the traceback."""
    d = describe(error)
    return Failure(oracle, kind, d.stage, d.message, before + d.traceback, d.frames, d.exc_type, d.causes, variant)
