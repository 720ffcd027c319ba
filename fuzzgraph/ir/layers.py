"""Layers: modules of torch.nn that a program makes (`state l: layer`), and what calls of them give.

A layer is typed by running it on meta tensors in this process: its class and arguments are the program's, so that no
rule knows it.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgpack
import torch
import torch.fx as fx

from .program import Closure, Ref, State
from .types import FROM_TORCH, AnyType, TensorType, Type
from .typing import Rejected
from .wire import pack_value, unpack_value

if TYPE_CHECKING:
    from .typing import Script


@dataclass(frozen=True)
class Layer:
    """A layer as a function calls it. `eval`: every instance that holds it is out of training."""

    state: State
    eval: bool

    @property
    def draws(self) -> bool:
        """Whether a call draws random numbers."""
        drawing = (torch.nn.modules.dropout._DropoutNd, torch.nn.RReLU)
        found = _made(_packed(self.state), self.eval)
        return not self.eval and any(isinstance(m, drawing) or _drops(m) for m in found.modules())


def _packed(state: State) -> bytes:
    """The class and the arguments, as a key."""
    data: bytes = msgpack.packb(pack_value(state.initial))
    return data


def _drops(module: torch.nn.Module) -> bool:
    rate = getattr(module, "dropout", 0.0)
    return isinstance(rate, float) and rate > 0


def layer_of(script: Script, function: str, callee: Any) -> Layer | None:
    """The layer that a node of a function stands for: read from outside, or captured; None for all else."""
    if not isinstance(callee, fx.Node) or callee.op not in ("get_attr", "placeholder"):
        return None
    states = {s.name: s for s in script.states if s.kind == "layer"}
    if callee.op == "get_attr":
        return Layer(states[str(callee.target)], False) if str(callee.target) in states else None
    holders = [c for c in script.closures if c.function == function]
    bound = [(c, r) for c in holders for name, r in c.bindings if name == callee.name]
    found = {r.name for _, r in bound if isinstance(r, Ref)} & states.keys()
    if len(found) != 1 or len(bound) != len(holders):
        return None
    return Layer(states[found.pop()], all(map(_is_eval, holders)))


def _is_eval(holder: Closure) -> bool:
    return holder.args == ("eval",)


def applied(layer: Layer, given: tuple[Any, ...]) -> Type:
    """The type of what a layer gives for one tensor, with the alias "0" where that is the tensor itself. Opaque for
    what meta tensors cannot tell. Raises Rejected where the layer does not take it."""
    if len(given) != 1 or not isinstance(given[0], TensorType):
        return AnyType()
    return _applied(_packed(layer.state), layer.eval, given[0].with_(alias=None))


@functools.lru_cache(1000)
def _applied(initial: bytes, eval_: bool, kind: TensorType) -> Type:
    module = _made(initial, eval_)
    held = {t.dtype for t in (*module.parameters(), *module.buffers()) if t.is_floating_point()}
    if held and kind.torch_dtype not in held:
        raise Rejected(f"a layer of {held.pop()} gets {kind.dtype}")
    x = torch.empty_strided(kind.shape, kind.stride, dtype=kind.torch_dtype, device="meta")
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = module(x)
    except NotImplementedError:
        return AnyType()
    except Exception as error:
        raise Rejected(f"{type(module).__name__}: {str(error).partition(chr(10))[0]}") from None
    if not isinstance(found, torch.Tensor):
        return AnyType()
    same = found.untyped_storage()._cdata == x.untyped_storage()._cdata
    floats = found.is_floating_point()
    grad = floats and (kind.requires_grad or any(p.requires_grad for p in module.parameters()))
    offset = kind.offset if same else 0
    shape, stride = tuple(map(int, found.shape)), tuple(map(int, found.stride()))
    made = TensorType(FROM_TORCH[found.dtype], shape, stride, offset, kind.device, grad)
    return made.with_(alias="0") if same else made


@functools.lru_cache(1000)
def _made(initial: bytes, eval_: bool) -> torch.nn.Module:
    """The layer on the meta device, which has no memory. `initial` is the state's content, packed."""
    name, args, kwargs = unpack_value(msgpack.unpackb(initial, strict_map_key=False))
    try:
        with torch.device("meta"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made: torch.nn.Module = getattr(torch.nn, name)(*args, **kwargs)
    except Exception as error:
        raise Rejected(f"{name}: {str(error).partition(chr(10))[0]}") from None
    for module in made.modules():
        if isinstance(module, torch.nn.modules.batchnorm._NormBase):
            module.num_batches_tracked = None  # without a momentum it would read this number, and there is none
    return made.eval() if eval_ else made
