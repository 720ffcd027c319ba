"""Runs of the reference in float64, and runs with values moved by an ulp: what tells noise from faults."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .program import Variant
from .transplant import Transplant

_UP = {
    torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}  # fmt: skip
# Legacy type names that Tensor.type() takes.
_UP_NAMES = {"torch.FloatTensor": "torch.DoubleTensor", "torch.HalfTensor": "torch.DoubleTensor"}
# Integers up to here are meant exactly (0, 1, a shape, an index); larger floats are integers by lack of bits.
_EXACT = float(1 << 22)


class CannotUpcast(Exception):
    """The program reads the bits of its floats, so that a float64 run would compute something else."""


class Float64Mode(TorchFunctionMode):
    """Every floating dtype that the program names becomes its 64-bit form."""

    def __init__(self) -> None:
        super().__init__()
        tensor = torch.Tensor
        self.methods = {tensor.float: tensor.double, tensor.half: tensor.double, tensor.bfloat16: tensor.double}
        if hasattr(tensor, "cfloat"):
            self.methods[tensor.cfloat] = tensor.cdouble
        self.bitcasts = (tensor.view, tensor.view_as, torch.view_copy)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self.methods:
            func = self.methods[func]
        if func in self.bitcasts and any(isinstance(a, torch.dtype) for a in (*args[1:], *kwargs.values())):
            raise CannotUpcast("the program reinterprets bits")
        args = [_up(a) for a in args]
        kwargs = {k: _up(v) for k, v in kwargs.items()}
        return func(*args, **kwargs)


def _up(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return _UP.get(value, value)
    if isinstance(value, str):
        return _UP_NAMES.get(value, value)
    return value


class _DefaultFloat64:
    """`with`: numbers become float64 tensors where no dtype is named."""

    def __enter__(self) -> None:
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)

    def __exit__(self, *exc: object) -> None:
        torch.set_default_dtype(self.before)


def float64_variant() -> Variant:
    """Inputs, constants and states upcast, every float dtype of the program rewritten, autocast off. The run raises
    CannotUpcast where that would be another program."""
    return Variant(prepare=_upcast_all, around=[_DefaultFloat64, Float64Mode], autocast=False)


def perturbing_variant(seed: int) -> Variant:
    """Floats of inputs and constants, and results of operators, moved by one ulp up or down at random."""
    generator = torch.Generator("cpu").manual_seed(seed)

    def prepare(namespace: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        for tensor in _tensors(inputs):
            jitter(tensor, generator)
        return inputs

    return Variant(prepare=prepare, around=[lambda: PerturbingMode(generator)])


class PerturbingMode(TorchDispatchMode):
    """Moves what operators compute by an ulp, as another order of operations would. Views and in-place results are
    left alone: moving those would write to other values."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if all(r.alias_info is None for r in func._schema.returns):
            for tensor in _tensors(result):
                jitter(tensor, self.generator)
        return result


def jitter(tensor: torch.Tensor, generator: torch.Generator) -> None:
    """Move each element by an ulp, in place, but those that are special by intention: zeros, infinities, NaN, small
    integers. A bug at a special value must not pass for noise."""
    if tensor._is_zerotensor():  # autograd's zeros have no memory to write to
        return
    if tensor.is_complex():
        if tensor.is_conj() or tensor.is_neg():
            return
        tensor = torch.view_as_real(tensor.detach())
    if not tensor.is_floating_point() or tensor.numel() == 0 or _overlaps(tensor):
        return
    with torch.no_grad(), torch.inference_mode(tensor.is_inference()):
        plain = tensor.detach()
        up = torch.rand(plain.shape, generator=generator, device="cpu").to(plain.device) < 0.5
        far = torch.where(up, torch.inf, -torch.inf).to(plain.dtype)
        moved = torch.nextafter(plain, far) if plain.dtype != torch.float16 else _half_after(plain, up)
        special = ~torch.isfinite(plain) | ((plain == plain.round()) & (plain.abs() <= _EXACT))
        plain.copy_(torch.where(special, plain, moved))


def _half_after(value: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """nextafter for float16, which torch lacks on the CPU: 2**-11 of the value is half to one ulp."""
    wide = value.float()
    step = wide.abs() * 2**-10
    return (wide + torch.where(up, step, -step)).half()


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether two indices may reach one element: writing would move it twice. Never wrongly False."""
    reach = 0
    for stride, size in sorted((s, n) for s, n in zip(tensor.stride(), tensor.shape) if n > 1):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def _tensors(value: Any) -> list[torch.Tensor]:
    return [t for t in torch.utils._pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]


def _upcast_all(namespace: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return Upcaster().everything(namespace, inputs)


class Upcaster(Transplant):
    """Casts floats to 64 bits."""

    def __init__(self) -> None:
        super().__init__()
        self.dtypes: dict[int, torch.dtype] = {}

    def convert(self, flat: torch.Tensor) -> torch.Tensor:
        return flat.to(_UP.get(flat.dtype, flat.dtype))

    def module(self, module: torch.nn.Module) -> torch.nn.Module:
        return module.double()

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        """Raises CannotUpcast where a float shares its storage with something else, so that its bits are read."""
        raw = tensor.untyped_storage()._cdata
        if self.dtypes.setdefault(raw, tensor.dtype) != tensor.dtype:
            raise CannotUpcast("two dtypes share a storage")
        if not tensor.is_leaf:
            raise CannotUpcast("an input is not a leaf")
        return super().tensor(tensor)
