"""Reads an exception as a signature: where in the compiler, which torch frames, which message without what varies.

By class names and frames only, so it needs no torch and works on every version of it.
"""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from types import TracebackType

# Innermost torch frames kept for a signature: fewer merges distinct bugs that share a helper, more splits one bug by
# the path that led there.
FRAMES = 6
MESSAGE = 300

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
    frames = [frame for e in chain for frame in torch_frames(e.__traceback__)]
    innermost = next((f for e in reversed(chain) if (f := torch_frames(e.__traceback__))), [])
    causes = tuple(type(e).__name__ for e in chain)
    cpp = cpp_error(chain)
    compiling = cpp is not None or any(_compiles(f) for f in frames)
    stage = "cpp" if cpp is not None else _stage(frames) if compiling else "run"
    text = str(chain[-1])
    return Described(
        causes[-1], cpp or normalise(text), text[:4000], stage, tuple(innermost[-FRAMES:]), causes, compiling,
        "".join(traceback.format_exception(error))[-12_000:],
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


def cpp_error(chain: list[BaseException]) -> str | None:
    """The C++ compiler's first error, if that is what happened."""
    for error in reversed(chain):
        text = str(error)
        if type(error).__name__ in _CPP_ERRORS or text.startswith("C++ compile error"):
            match = re.search(r"(?:fatal )?error: ([^\n]*)", text)
            return normalise(match.group(1) if match else text)
    return None


def is_out_of_memory(error: BaseException) -> bool:
    return any(isinstance(e, MemoryError) or _OUT_OF_MEMORY.search(str(e)) for e in cause_chain(error))


def normalise(message: str) -> str:
    """The message without what differs between programs with the same bug: paths, numbers, addresses, advice."""
    text = _TAIL.split(message, maxsplit=1)[0].strip()
    text = re.sub(r"0x[0-9a-fA-F]+", "#", text)
    text = re.sub(r"(?<![\w.])/[^\s:'\",)]+", "<path>", text)
    text = re.sub(r"(?<![A-Za-z])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", "#", text)
    text = re.sub(r"(?<=[A-Za-z_])\d+", "#", text)
    text = re.sub(r"#(?:\s*[,x*]\s*#)+,?", "#", text)
    return " ".join(text.split())[:MESSAGE]
