"""What a program returns and how it is called: outputs, the script of calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import torch.fx as fx

from ..ir.builder import Builder, FunctionBuilder
from ..ir.program import CONTEXTS, Call, Context, InputSpec, Ref, type_of
from ..ir.types import ScalarType, SequenceType, TensorType, UnsizedType
from ..ir.typing import find_spec
from ..ir.values import Values, default_kind
from .layout import SIZES, similar_strides
from .profile import Profile, pick

# Whether a program with this script is valid: all types can be inferred, indices are in range.
Fits = Callable[[Builder], bool]

# Literals that are returned along with tensors at times: containers of outputs hold more than tensors.
LITERALS = (None, 3, 0.5, True, "s")
# The dtypes that contexts with an argument are given.
CONTEXT_DTYPES = {"autocast": ("bf16", "bf16", "f16"), "default_dtype": ("f64", "f64", "f16", "bf16")}


def leaves(f: FunctionBuilder) -> list[fx.Node]:
    """Values of the body that nothing uses, in order: tensors, numbers, tuples of them."""
    kinds = TensorType | UnsizedType | SequenceType | ScalarType
    return [n for n in f.body if not n.users and isinstance(type_of(n), kinds)]


def draw_result(f: FunctionBuilder, profile: Profile, rng: Random) -> Any:
    """A structure of all leaves, and at times of more."""
    found: list[Any] = leaves(f)
    written = [n for n in found if str(n.meta["op"]).endswith("_")]
    if written and len(found) > len(written) and rng.random() < 0.3:
        # The write shows in the input alone.
        found = [n for n in found if n not in written]
    others = [n for n in f.nodes if isinstance(type_of(n), TensorType | UnsizedType | ScalarType) and n not in found]
    if others and rng.random() < profile.extra_output:
        found.insert(rng.randrange(len(found) + 1), rng.choice(others))
    if found and rng.random() < 0.04:
        found.append(rng.choice(found))
    if rng.random() < 0.03:
        found.insert(rng.randrange(len(found) + 1), rng.choice(LITERALS))
    return structure(found, rng)


def structure(values: list[Any], rng: Random) -> Any:
    """Values as a function returns them: one bare, a tuple, a list, a dict, nested at times."""
    roll = rng.random()
    if len(values) == 1 and roll < 0.6:
        return values[0]
    if roll < 0.78:
        return tuple(values)
    if roll < 0.88:
        return list(values)
    if roll < 0.96 or len(values) < 2:
        return {f"r{i}": v for i, v in enumerate(values)}
    return (values[0], [*values[1:]])


def first_call(f: FunctionBuilder) -> Call:
    """The call on the inputs that the parameters are named after."""
    return Call(f.name, tuple(Ref(n.name) for n in f.placeholders))


# How inputs of other sizes differ, and how often such are tried.
RESIZINGS = (("everywhere", 4.0), ("multiples", 2.0), ("one", 2.0), ("equal", 1.0), ("edge", 1.5))
SIZE_TRIES = 3

KINDS = ("same", "context", "context", "sizes", "sizes", "values", "fresh", "memory", "memory")
# How far behind the start of the other one an input begins that shares its memory; None: right behind its end.
SHIFTS = (0, 0, 1, 2, None)


def draw_calls(
    b: Builder, f: FunctionBuilder, first: Call, fits: Fits, rng: Random, sizes: bool = False
) -> None:
    """Add one or two further calls, made from the first one; with `sizes`, on inputs of other sizes."""
    # Sizes are symbols from the second call on: only a third one meets code that was compiled for another size.
    for _ in range(rng.choice((1, 2, 2) if sizes else (1, 1, 2))):
        draw_call(b, f, first, fits, rng, "sizes" if sizes else None)


def draw_call(
    b: Builder, f: FunctionBuilder, first: Call, fits: Fits, rng: Random, kind: str | None = None
) -> None:
    """Add a call: on the same inputs, in a context, on inputs of other values or sizes, on inputs that share memory
    where the first ones did not, or the other way round, compiled anew."""
    first = replace(first, result=None)
    kind = kind or rng.choice(KINDS)
    if kind == "context" and not b.options.grad:
        name = rng.choice(tuple(CONTEXTS))
        args = tuple(rng.choice(CONTEXT_DTYPES[name]) for _ in range(CONTEXTS[name]))
        b.add_call(replace(first, contexts=(Context(name, args),)))
    elif kind == "sizes":
        other_sizes(b, f, first, fits, rng)
    elif kind == "memory":
        other_memory(b, f, first, fits, rng)
    elif kind == "values":
        b.add_call(copied(b, first, {}, rng))
    else:
        b.add_call(replace(first, contexts=(), fresh=kind == "fresh"))


def other_sizes(b: Builder, f: FunctionBuilder, call: Call, fits: Fits, rng: Random) -> bool:
    """Add a call on inputs of other sizes, if the function `fits` it as its only call."""
    found = [find_spec(b, a.name) for a in call.args if isinstance(a, Ref)]
    specs = [s for s in found if s is not None]
    if len(specs) < len(found) or any(s.view_of for s in specs):
        return False
    for _ in range(SIZE_TRIES):
        changed = changed_sizes(specs, rng)
        if changed and _fits_alone(b, f, replace(call, fresh=False), changed, fits):
            b.add_call(copied(b, call, changed, rng))
            return True
    return False


def other_memory(b: Builder, f: FunctionBuilder, call: Call, fits: Fits, rng: Random) -> bool:
    """Add a call on inputs of which two share memory that did not, or no longer do, if the function fits it.

    Parameters that share memory in any call count as sharing it in all, so that the whole script must fit.
    """
    specs = [s for s in b.inputs if Ref(s.name) in call.args]
    changed = _separated(specs, rng) or _joined(specs, rng)
    if not changed or not _fits_alone(b, f, replace(call, fresh=False), changed, fits):
        return False
    calls, inputs = list(b.calls), list(b.inputs)
    b.add_call(copied(b, call, changed, rng))
    if fits(b):
        return True
    b.calls, b.inputs = calls, inputs
    fits(b)  # types as they were
    return False


def _separated(specs: list[InputSpec], rng: Random) -> dict[str, InputSpec]:
    """An input that is a view of another one with memory of its own."""
    views = [s for s in specs if s.view_of]
    if not views:
        return {}
    spec = rng.choice(views)
    values = next((s.values for s in specs if s.name == spec.view_of), Values(default_kind(spec.type.dtype)))
    return {spec.name: replace(spec, view_of=None, values=values)}


def _joined(specs: list[InputSpec], rng: Random) -> dict[str, InputSpec]:
    """Two inputs of one dtype, the second of which becomes a view of the first. One that requires grad is a leaf, which
    shares its memory with none."""
    based = {s.view_of for s in specs}
    alone = [s for s in specs if not s.view_of and s.name not in based and not s.type.requires_grad]
    pairs = [(a, b) for i, a in enumerate(alone) for b in alone[i + 1 :] if a.type.dtype == b.type.dtype]
    if not pairs:
        return {}
    base, view = rng.choice(pairs)
    shift = rng.choice(SHIFTS)
    kind = view.type.with_(offset=view.type.offset + (base.type.extent if shift is None else shift))
    room = max(base.storage or 0, base.type.extent, kind.extent)
    return {
        base.name: replace(base, storage=room if room > base.type.extent else base.storage),
        view.name: replace(view, type=kind, storage=None, view_of=base.name),
    }


def _fits_alone(b: Builder, f: FunctionBuilder, call: Call, changed: Mapping[str, InputSpec], fits: Fits) -> bool:
    trial = Builder(b.infer, b.check)
    trial.options = b.options
    for spec in [s for s in b.inputs if Ref(s.name) in call.args] + b.constants:
        (trial.add_constant if spec in b.constants else trial.add_input)(changed.get(spec.name, spec))
    trial.functions = {name: FunctionBuilder(trial, g.finish()) for name, g in b.functions.items()}
    trial.add_call(call)
    return fits(trial)


def changed_sizes(specs: list[InputSpec], rng: Random) -> dict[str, InputSpec]:
    """The inputs with other sizes: one size everywhere, with its multiples at times; 0 or 1; or one dim alone, so that
    what was equal no longer is, or now is."""
    how = pick(RESIZINGS, rng)
    dims = [(s, d) for s in specs for d in range(s.type.rank)]
    if not dims:
        return {}
    chosen, dim = rng.choice(dims)
    old = chosen.type.shape[dim]
    new = rng.choice((0, 1)) if how == "edge" else pick([(n, w) for n, w in SIZES if n > 0], rng)
    if how == "equal":
        new = rng.choice([n for s in specs for n in s.type.shape])
    if new == old or (old == 0 and how == "multiples"):
        return {}
    if how in ("one", "equal"):
        return {chosen.name: with_size(chosen, dim, new)}
    found = {s.name: grown_index(resized(s, old, new), old, new) for s in specs}
    if how == "multiples" and old > 1:
        for times in (2, 3, 4):
            found = {n: resized(s, old * times, new * times) for n, s in found.items()}
    return found


def with_size(spec: InputSpec, dim: int, new: int) -> InputSpec:
    """The input with one dim of another size; strides in the same order of memory."""
    kind = spec.type
    shape = (*kind.shape[:dim], new, *kind.shape[dim + 1 :])
    stride = similar_strides(kind.shape, kind.stride, shape)
    return replace(spec, type=kind.with_(shape=shape, stride=stride), storage=None)


def resized(spec: InputSpec, old: int, new: int) -> InputSpec:
    """The input with each size `old` replaced; strides in the same order of memory."""
    kind = spec.type
    if old not in kind.shape:
        return spec
    shape = tuple(new if n == old else n for n in kind.shape)
    stride = similar_strides(kind.shape, kind.stride, shape)
    return replace(spec, type=kind.with_(shape=shape, stride=stride), storage=None)


def grown_index(spec: InputSpec, old: int, new: int) -> InputSpec:
    """An index into dims of the old size is one into dims of the new size."""
    if spec.values.kind == "index" and spec.values.params == (old,) and new > 0:
        return replace(spec, values=replace(spec.values, params=(new,)))
    return spec


def copied(b: Builder, call: Call, changed: dict[str, InputSpec], rng: Random) -> Call:
    """The call on inputs of its own: new seeds, and the specs in `changed` instead of the old ones."""
    names: dict[str, str] = {}
    for name in [s.name for s in b.inputs if any(a == Ref(s.name) for a in call.args)]:
        spec = changed.get(name, b.spec(name))
        names[name] = b.fresh_name("x")
        values = replace(spec.values, seed=0 if spec.view_of else rng.getrandbits(16))
        base = names.get(spec.view_of, spec.view_of) if spec.view_of else None
        b.add_input(replace(spec, name=names[name], values=values, view_of=base))
    args = tuple(Ref(names.get(a.name, a.name)) if isinstance(a, Ref) else a for a in call.args)
    return replace(call, args=args, result=None)
