"""Runs of the reference in float64, and runs with values moved by an ulp: what tells noise from faults."""

from __future__ import annotations

import functools
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
        self.random = (torch.rand, torch.randn, torch.rand_like, torch.randn_like)
        self.fillers = (tensor.uniform_, tensor.normal_, tensor.exponential_, tensor.log_normal_, tensor.cauchy_)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self.methods:
            func = self.methods[func]
        if func in self.bitcasts and any(isinstance(a, torch.dtype) for a in (*args[1:], *kwargs.values())):
            raise CannotUpcast("the program reinterprets bits")
        if func in self.random and kwargs.get("dtype") != torch.float64 and "out" not in kwargs:
            return _drawn(func, args, kwargs)
        if func in self.fillers and args[0].dtype == torch.float64:
            return args[0].copy_(func(torch.empty_like(args[0], dtype=torch.float32), *args[1:], **kwargs))
        if getattr(func, "__module__", "") == "torch.nn.init":  # it draws inside, where this mode is off
            return _initialized(func, args, kwargs)
        args = [_up(a) for a in args]
        kwargs = {k: _up(v) for k, v in kwargs.items()}
        return func(*args, **kwargs)


def _initialized(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of torch.nn.init, which fills a tensor: with what it would fill the plain run's with."""
    tensor = kwargs["tensor"] if "tensor" in kwargs else args[0]
    if tensor.dtype != torch.float64:
        return func(*args, **kwargs)
    narrow = torch.empty_like(tensor, dtype=torch.float32, requires_grad=False)
    func(*([narrow, *args[1:]] if args else []), **{k: narrow if v is tensor else v for k, v in kwargs.items()})
    with torch.no_grad():
        return tensor.copy_(narrow)


def _drawn(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
    """The very numbers that the program would draw: a generator gives others for float64."""
    given = {k: v for k, v in kwargs.items() if k not in ("dtype", "requires_grad")}
    made = func(*args, dtype=kwargs.get("dtype") or torch.float32, **given)
    return made.to(_UP.get(made.dtype, made.dtype)).requires_grad_(kwargs.get("requires_grad", False))


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


class Nudge:
    """Which way elements move: all of them "up" or "down", or each at random by a seed."""

    def __init__(self, how: int | str) -> None:
        self.how = how
        self._generator = torch.Generator("cpu").manual_seed(how if isinstance(how, int) else 0)

    def up(self, like: torch.Tensor) -> torch.Tensor:
        """A mask of the elements that move up."""
        if isinstance(self.how, str):
            return torch.full(like.shape, self.how == "up", device=like.device)
        return torch.rand(like.shape, generator=self._generator, device="cpu").to(like.device) < 0.5


def perturbing_variant(how: int | str) -> Variant:
    """Inputs, and results of operators, moved by one ulp as `Nudge(how)` says. Inputs of half precision stay: their
    ulp is far more than what computing with them in another order makes. But those of bfloat16 that are next to its
    largest, which is float32's: some orders of a sum of them overflow."""
    nudge = Nudge(how)

    def prepare(namespace: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        for tensor in _tensors(inputs):
            if tensor.dtype == torch.bfloat16:
                jitter(tensor, nudge, least=torch.finfo(torch.bfloat16).max / 4)
            elif tensor.dtype != torch.float16:
                jitter(tensor, nudge)
        return inputs

    return Variant(prepare=prepare, around=[lambda: PerturbingMode(nudge)])


# Pointwise functions that no two libraries round alike: a whole number that one of them gives (tanh(20) = 1) is no more
# meant than any other value, and each element of an in-place result is computed anew.
_ROUNDED = frozenset({
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "digamma", "erf", "erfc", "erfinv",
    "exp", "exp2", "expm1", "gelu", "lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logit",
    "log_sigmoid_forward", "mish", "pow", "polygamma", "rsqrt", "sigmoid", "silu", "sin", "sinc", "sinh", "softplus",
    "tan", "tanh", "xlogy",
})  # fmt: skip


class PerturbingMode(TorchDispatchMode):
    """Moves what operators compute by an ulp, as another order of operations would. Views are left alone, and in-place
    results but those of functions that compute all their elements: moving those would write to other values. So are
    random numbers, which nobody computes."""

    supports_higher_order_operators = True

    def __init__(self, nudge: Nudge) -> None:
        super().__init__()
        self.nudge = nudge

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if isinstance(func, torch._ops.HigherOrderOperator):
            return func(*map(self._inside, args), **{k: self._inside(v) for k, v in (kwargs or {}).items()})
        result = func(*args, **(kwargs or {}))
        drawn = torch.Tag.nondeterministic_seeded in func.tags
        rounded = func._schema.name.removeprefix("aten::").removesuffix("_") in _ROUNDED
        if not drawn and (rounded or all(r.alias_info is None for r in func._schema.returns)):
            within = _computed_in(func, args)
            for tensor in _tensors(result):
                jitter(tensor, self.nudge, whole=rounded, within=within)
        return result

    def _inside(self, value: Any) -> Any:
        """A function that an operator calls, which is run without this mode: with it. Other arguments as they are."""
        if isinstance(value, torch.Tensor) or not callable(value):
            return value

        def moved(*args: Any, **kwargs: Any) -> Any:
            with self:
                return value(*args, **kwargs)

        return moved


def _computed_in(func: Any, args: tuple[Any, ...]) -> torch.dtype | None:
    """The floating dtype in which an operator computes that writes to `out`, which may be a wider one."""
    if not any(argument.is_out for argument in func._schema.arguments):
        return None
    operands = [t for t in _tensors(args) if t.dim()] or _tensors(args)
    if not operands:
        return None
    dtype = functools.reduce(torch.promote_types, (t.dtype for t in operands))
    return dtype.to_real() if dtype.is_floating_point or dtype.is_complex else torch.get_default_dtype()


def jitter(
    tensor: torch.Tensor, nudge: Nudge, whole: bool = False, within: torch.dtype | None = None, least: float = 0.0
) -> None:
    """Move each element of at least that magnitude by an ulp (of the dtype `within`, if that is a narrower one), in
    place, but those that are special by intention: zeros, infinities, NaN, and small integers unless `whole`. A bug at
    a special value must not pass for noise."""
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
        up = nudge.up(plain)
        narrow = plain if within is None or within.itemsize >= plain.itemsize else plain.to(within)
        far = torch.where(up, torch.inf, -torch.inf).to(narrow.dtype)
        moved = torch.nextafter(narrow, far) if narrow.dtype != torch.float16 else _half_after(narrow, up)
        moved = moved.to(plain.dtype)
        meant = plain == 0 if whole else (plain == plain.round()) & (plain.abs() <= _EXACT)
        special = ~torch.isfinite(plain) | meant | (plain.abs() < least)
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
