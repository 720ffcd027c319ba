"""FX graphs as the harness records them: what crosses from the process that ran a graph to the importer.

A recorded graph is not yet a program: its calls have the names that Python or torch's dispatcher have for them, not the
grammar's. Sizes are numbers, tensors are described by their types, and arguments hold `Ref`s to earlier nodes.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import Any

import msgpack

from ..errors import ProgramError
from .program import InputSpec
from .types import AnyType, Type
from .wire import pack_spec, pack_type, pack_value, unpack_spec, unpack_type, unpack_value

RECORDED_VERSION = 1


@dataclass(frozen=True)
class Mode:
    """The contexts that code runs in: grad mode, the CPU's autocast dtype (None: off), inference mode."""

    grad: bool = True
    autocast: str | None = None
    inference: bool = False


@dataclass(frozen=True)
class RecordedNode:
    """One call. `target` is the method's name, or the function's full path (`torch._C._nn.linear`, `_operator.add`,
    `torch.ops.aten.add.Tensor`); `type` is what the call really gave, aliases by the name of the root."""

    name: str
    target: str
    method: bool = False
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    type: Type = AnyType()  # noqa: RUF009 - frozen
    mode: Mode = Mode()


@dataclass(frozen=True)
class Recorded:
    """One graph. `origin` says where it comes from, for people. `mode` is that of the caller. `refused` is why the
    graph cannot be a program, where it cannot; the rest is then incomplete."""

    origin: str
    inputs: tuple[InputSpec, ...] = ()
    nodes: tuple[RecordedNode, ...] = ()
    result: Any = None
    mode: Mode = Mode()
    refused: str | None = None


def pack(recorded: Recorded) -> bytes:
    """The msgpack form; `unpack(pack(r)) == r`. Raises ProgramError for values that programs cannot hold."""
    nodes = [
        [n.name, n.target, n.method, pack_value(n.args), pack_value(n.kwargs), pack_type(n.type), astuple(n.mode)]
        for n in recorded.nodes
    ]
    data: bytes = msgpack.packb(
        [RECORDED_VERSION, recorded.origin, [pack_spec(s) for s in recorded.inputs], nodes,
         pack_value(recorded.result), astuple(recorded.mode), recorded.refused]
    )  # fmt: skip
    return data


def unpack(data: bytes) -> Recorded:
    """Inverse of pack. Raises ProgramError on damaged data or another format version."""
    try:
        version, origin, inputs, nodes, result, mode, refused = msgpack.unpackb(data, strict_map_key=False)
        if version != RECORDED_VERSION:
            raise ProgramError(f"recording format {version!r}, this fuzzgraph reads {RECORDED_VERSION}")
        return Recorded(
            origin, tuple(map(unpack_spec, inputs)), tuple(map(_unpack_node, nodes)), unpack_value(result),
            Mode(*mode), refused,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, msgpack.UnpackException) as error:
        raise ProgramError(f"damaged recording: {type(error).__name__}: {error}") from error


def _unpack_node(data: Any) -> RecordedNode:
    name, target, method, args, kwargs, declared, mode = data
    return RecordedNode(
        name, target, method, unpack_value(args), unpack_value(kwargs), unpack_type(declared), Mode(*mode)
    )
