"""What judges work with: two recorded runs, and tools that make further runs when a judge needs them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass


@dataclass
class Run:
    """What one execution of a program left behind; `error` is set where it raised (the rest is then partial). `began`:
    whether it came as far as the program's calls; `drew`: whether torch's random numbers were asked for; `drawn`: the
    state of their generator after the run.

    `results` has one item per call, `inputs` the input tensors after the run, `gradients` what backward left in
    them (None: no gradient), `states` what the program's `get_states()` said.
    """

    results: list[Any] = field(default_factory=list)
    inputs: dict[str, Any] = field(default_factory=dict)
    gradients: dict[str, torch.Tensor | None] = field(default_factory=dict)
    states: Any = None
    error: BaseException | None = None
    began: bool = False
    drew: bool = False
    drawn: torch.Tensor | None = None


@dataclass
class Trial:
    """A program run both ways, with the tools that judge it."""

    reference: Run
    subject: Run
    tools: Tools


class Precision(Protocol):
    """What tells noise from wrong numbers: further executions of the program, and the one verdict that is no failure.
    Each is made once, and only when asked for."""

    def rerun(self) -> Run:
        """The reference again."""
        ...

    def perturbed(self, how: int | str) -> Run:
        """The reference with values moved by an ulp: inputs, and results of operators that round. `how`: all "up", all
        "down", or each at random by a seed."""
        ...

    def float64(self) -> Run | None:
        """The reference in float64, or None where that is not possible; `float64_problem` then says why."""
        ...

    float64_problem: str

    def emulated(self) -> Run | None:
        """The subject with Inductor's emulate_precision_casts, or None where the target has no such thing."""
        ...

    low_precision: bool

    def unstable(self, reason: str) -> None:
        """The reference is no judge of this program."""
        ...


class Tools(Precision, Protocol):
    """Further executions of the program, of others, and on other terms; made as those of `Precision` are."""

    def on_cpu(self) -> Run | None:
        """The reference on the CPU, or None where that is where it ran."""
        ...

    def fake(self) -> Run | None:
        """The program on FakeTensors, or None where they cannot say (values decide what happens, or the target's
        device is not here)."""
        ...

    def reconfigured(self, config: dict[str, Any]) -> Run | None:
        """The subject compiled anew under further config patches, or None where this torch lacks one of them."""
        ...

    def reseeded(self, seed: int) -> Run:
        """The reference under another seed of torch's random numbers."""
        ...

    def own_random(self, seed: int) -> Run | None:
        """The subject compiled anew, with random numbers of its own instead of eager's, or None where the target has no
        such thing."""
        ...

    def again(self) -> Run:
        """The subject compiled once more in this process, after a reset."""
        ...

    def other(self, source: str) -> Trial:
        """Another program, which has this one's options, run both ways."""
        ...

    def harmless(self, run: Run) -> bool:
        """Whether what a compiled run raised says nothing against the compiler: it refuses what fullgraph asks for, or
        memory ran out."""
        ...

    def note(self, text: str) -> None:
        """Something that a reader of the verdict should know, and that is no failure."""
        ...


class Quiet:
    """The tools for a comparison that is none of the program with eager: without a say on the program's stability, and
    without reruns of the compiled program."""

    low_precision = False

    def __init__(self, tools: Precision) -> None:
        self.rerun, self.perturbed = tools.rerun, tools.perturbed
        self.float64_problem = ""
        self._tools = tools

    def float64(self) -> Run | None:
        run = self._tools.float64()
        self.float64_problem = self._tools.float64_problem
        return run

    def emulated(self) -> Run | None:
        return None

    def unstable(self, reason: str) -> None:
        """Not this comparison's to say."""


Path = tuple[Any, ...]


# The module that a program's source becomes; classes that it defines are of it, or of this where it is a script.
PROGRAM_MODULE, SCRIPT_MODULE = "fuzzgraph_program", "__main__"
# Objects within objects: a program's own may refer to each other.
DEEPEST = 12
_SEQUENCES: tuple[type, ...] = (list, tuple, deque, type({}.keys()), type({}.values()), type({}.items()))


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Leaves of nested containers with their paths: of tuples, lists, dicts, dict views, deques, of the attributes of
    what the program's own classes make, and of the parts of tensors that hold tensors. Other objects are leaves, and
    tensors of a subclass become plain ones.
    """
    inner = parts(value) if len(path) < DEEPEST else None
    if inner is None:
        yield path, _unwrapped(value)
        return
    for key, item in inner:
        yield from leaves(item, (*path, key))


def parts(value: Any) -> list[tuple[str | int, Any]] | None:
    """What a container holds, by name; None for what is none."""
    if isinstance(value, torch.Tensor):
        return _tensor_parts(value)
    if isinstance(value, _SEQUENCES) and not isinstance(value, torch.Size):
        return list(enumerate(iter(value)))  # type: ignore[call-overload]
    if isinstance(value, dict):
        return [(key if isinstance(key, str | int) else str(key), item) for key, item in value.items()]
    if type(value).__module__ in (PROGRAM_MODULE, SCRIPT_MODULE) and not isinstance(value, torch.nn.Module | Enum):
        return list(getattr(value, "__dict__", {}).items()) or None
    return None


def _tensor_parts(value: torch.Tensor) -> list[tuple[str | int, Any]] | None:
    """The tensors that a nested one holds, or one that wraps others."""
    if isinstance(value, FakeTensor):
        return None
    if is_traceable_wrapper_subclass(value):
        names, _ = value.__tensor_flatten__()  # type: ignore[attr-defined]
        return [(name, getattr(value, name)) for name in names]
    return list(enumerate(value.unbind())) if value.is_nested else None


def _unwrapped(value: Any) -> Any:
    """A tensor of a user's subclass as a plain one, whose methods are torch's."""
    if not isinstance(value, torch.Tensor) or type(value) in (torch.Tensor, FakeTensor):
        return value
    if isinstance(value, torch.nn.Parameter):
        return value
    with torch._C.DisableTorchFunctionSubclass():
        return value.as_subclass(torch.Tensor)


def show(path: Path) -> str:
    """A path for people: `call 0 [1]['k']`."""
    head, *rest = path
    return f"call {head}" + "".join(f"[{p!r}]" for p in rest)
