"""Executes a rendered program once and records what it left behind."""

from __future__ import annotations

import contextlib
import linecache
import os
import random
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ..ir.settings import PASSES, as_torch
from ..ir.types import DTYPES
from ..oracles._types import PROGRAM_MODULE as MODULE
from ..oracles._types import Run, leaves
from . import passes
from .transplant import Mover

# MODULE is one name for all programs, so that messages which quote it are equal.
# The global by which Dynamo finds it.
ALIAS = f"__import_{MODULE}"
FILE = "<fuzzgraph_program>"
# Any fixed number: reference and subject start from equal random states.
SEED = 20240607


class Stop(BaseException):
    """The cover tier's end of a program. No Exception, so that torch neither wraps nor swallows it."""


class OptionError(ValueError):
    """Run options that this torch cannot follow."""


@dataclass
class Loaded:
    """A compiled source and the options that hold for each of its runs."""

    code: types.CodeType
    source: str
    options: dict[str, Any]
    device: str = "cpu"
    # Namespaces that it made, the first one only: for sources that cannot be executed twice in a process.
    first: list[dict[str, Any]] = field(default_factory=list)

    @staticmethod
    def of(source: str, options: dict[str, Any], device: str = "cpu") -> Loaded:
        """`options["file"]`: where the source is from, a path. Raises SyntaxError where the source is no Python."""
        return Loaded(compile(source, options.get("file") or FILE, "exec", dont_inherit=True), source, options, device)

    def under(self, config: dict[str, Any]) -> Loaded:
        """The same with other config patches."""
        return replace(self, options={**self.options, "config": config})


@dataclass
class Variant:
    """How one run differs from the plain one.

    `prepare(namespace, inputs) -> inputs` may replace what the program starts from; `around` are entered around
    `run` and backward, not around `make_inputs`; `seed` is of the random numbers that torch draws there.
    """

    prepare: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]] | None = None
    around: list[Callable[[], contextlib.AbstractContextManager[Any]]] = field(default_factory=list)
    autocast: bool = True
    seed: int = SEED


def identity(function, **_):
    return function


def run_once(loaded: Loaded, wrap: Callable[[Any], Any], variant: Variant | None = None) -> Run:
    """Execute the source anew (functions, constants and states are fresh) and record. What the program raises is in
    `Run.error`; SystemExit and the cover tier's Stop pass.

    A source of another origin names its parts `fuzzgraph_make_inputs`, ...; it may say `fuzzgraph_config` (patches that
    the job's go before) and do its own backward, after which `fuzzgraph_gradients()` tells what that left.
    """
    variant = variant or Variant()
    run = Run()
    try:
        namespace = _namespace(loaded)
        _seed()
        inputs = _part(namespace, "make_inputs")()
        if loaded.device != "cpu":
            inputs = Mover(loaded.device).everything(namespace, inputs)
        if variant.prepare is not None:
            inputs = variant.prepare(namespace, inputs)
        run.inputs = inputs
        _seed(variant.seed)
        untouched = _random_state(loaded.device)
        with contextlib.ExitStack() as stack:
            for enter in variant.around:
                stack.enter_context(enter())
            stack.enter_context(_own_config(namespace.get("fuzzgraph_config", {}), loaded.options))
            with _placed(loaded.device), _modes(loaded.options, loaded.device, variant.autocast):
                run.began = True
                run.results = list(_part(namespace, "run")(wrap, inputs))
            if loaded.options.get("grad"):
                backward(run.results)
                tensors = {name: t for name, t in inputs.items() if isinstance(t, torch.Tensor)}
                run.gradients = {name: t.grad for name, t in tensors.items() if t.requires_grad and t.is_leaf}
                if "get_gradients" in namespace:  # those of what the program holds itself
                    run.gradients.update(namespace["get_gradients"]())
            elif "fuzzgraph_gradients" in namespace:
                run.gradients = namespace["fuzzgraph_gradients"]()
            get_states = _part(namespace, "get_states")
            if get_states is not None:
                run.states = get_states()
        run.drawn = _random_state(loaded.device)
        run.drew = not torch.equal(untouched, run.drawn)
    except (SystemExit, Stop):
        raise
    except BaseException as e:  # a program may raise anything; nobody types a Ctrl-C into a child
        run.error = e
    return run


def _part(namespace: dict[str, Any], name: str) -> Any:
    """A part of the program; None where it has none of that name."""
    return namespace.get(f"fuzzgraph_{name}") or namespace.get(name)


def _plain_attention() -> None:
    """Eager flex_attention compiles itself, for a check of its functions, and refuses after a few other operands. Off:
    the result is the same, and a reference runs more than once. Compiled code does not read this."""
    flex = sys.modules.get("torch.nn.attention.flex_attention")
    if hasattr(flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"):
        flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True  # type: ignore[union-attr]


def _namespace(loaded: Loaded) -> dict[str, Any]:
    """The module that the source makes, where Dynamo and tracebacks find it.

    A source that cannot be executed twice (it registers an operator) lends the namespace of its first execution.
    """
    file = loaded.options.get("file") or FILE
    _forget_module()
    module = types.ModuleType(MODULE)
    module.__file__ = file
    before = sys.modules.get(MODULE)
    sys.modules[MODULE] = module
    linecache.cache[file] = (len(loaded.source), None, loaded.source.splitlines(keepends=True), file)
    if loaded.options.get("file"):
        folder = os.path.dirname(file)
        if folder not in sys.path:
            sys.path.insert(0, folder)
    try:
        exec(loaded.code, module.__dict__)
        _plain_attention()
    except Exception:
        if not loaded.first or before is None:
            raise
        sys.modules[MODULE] = before
        return loaded.first[0]
    if not loaded.first:
        loaded.first.append(module.__dict__)
    return module.__dict__


def _forget_module() -> None:
    """Dynamo finds the module of an earlier program where an operator that compiles what it calls left it: as a global
    of torch's own modules, and in a cache of imports."""
    for other in list(sys.modules.values()):
        if isinstance(other, types.ModuleType):  # Python 3.11 has classes there, too
            other.__dict__.pop(ALIAS, None)
    imports = getattr(sys.modules.get("torch._dynamo.symbolic_convert"), "_import_module", None)
    getattr(imports, "cache_clear", lambda: None)()


def _random_state(device: str) -> torch.Tensor:
    return torch.get_rng_state() if device == "cpu" else torch.get_device_module(device).get_rng_state()


def _seed(seed: int = SEED) -> None:
    torch.manual_seed(seed)
    random.seed(SEED)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(SEED % 2**32)


@contextlib.contextmanager
def _placed(device: str) -> Iterator[None]:
    """Tensors that the program makes without naming a device land on the target's."""
    if device == "cpu":
        yield
        return
    with torch.device(device):
        yield


@contextlib.contextmanager
def _modes(options: dict[str, Any], device: str, autocast: bool) -> Iterator[None]:
    """Autocast and inference mode hold for reference and subject alike."""
    with contextlib.ExitStack() as stack:
        if options.get("autocast") and autocast:
            name = options["autocast"]
            dtype = DTYPES[name].torch_dtype if name in DTYPES else getattr(torch, str(name).removeprefix("torch."))
            stack.enter_context(torch.autocast(device, dtype=dtype))
        if options.get("inference"):
            stack.enter_context(torch.inference_mode())
        yield


def backward(results: list[Any]) -> None:
    """Backward from every floating-point result that needs it, each weighted by fixed numbers.

    The weights make a gradient that lands in the wrong place visible, and are exact in every dtype.
    """
    outputs, weights = [], []
    for i, (_, value) in enumerate(leaves(results)):
        if not isinstance(value, torch.Tensor) or not value.requires_grad or value.is_inference():
            continue
        if value.is_complex():
            value = torch.view_as_real(value.resolve_conj())
        if value.is_floating_point():
            outputs.append(value)
            weights.append(sentinel(value, i))
    if outputs:
        torch.autograd.backward(outputs, weights)


def sentinel(like: torch.Tensor, key: int) -> torch.Tensor:
    """Multiples of 1/4 from 0.25 to 2: exact in every floating dtype. Leaves the global random state alone."""
    generator = torch.Generator("cpu").manual_seed(SEED + key)
    eighths = torch.randint(1, 9, like.shape, generator=generator, device="cpu")
    return (eighths / 4).to(device=like.device, dtype=like.dtype)


@contextlib.contextmanager
def patched(config: dict[str, Any]) -> Iterator[None]:
    """Config patches such as {"inductor.cpp.simdlen": 1}, and equal random numbers in eager and compiled code.

    Raises OptionError for a setting that this torch does not have.
    """
    # verbose keeps the frames that Dynamo strips from exceptions; signatures need them.
    with _patches({"inductor.fallback_random": True, "dynamo.verbose": True, **config}):
        yield


def _own_config(config: dict[str, Any], options: dict[str, Any]) -> contextlib.AbstractContextManager[None]:
    """What a program says of settings that its job leaves open."""
    return _patches({k: v for k, v in config.items() if k not in (options.get("config") or {})})


@contextlib.contextmanager
def _patches(config: dict[str, Any]) -> Iterator[None]:
    """Raises OptionError for a setting that this torch does not have."""
    import torch._dynamo.config
    import torch._functorch.config
    import torch._inductor.config

    by_module: dict[str, dict[str, Any]] = {"inductor": {}, "dynamo": {}, "functorch": {}}
    modules = {
        "inductor": torch._inductor.config, "dynamo": torch._dynamo.config, "functorch": torch._functorch.config,
    }  # fmt: skip
    for key, value in as_torch(config).items():
        module, _, name = key.partition(".")
        if module not in modules or name not in modules[module]._config:
            raise OptionError(f"this torch has no setting {key}")
        unknown = set(value) - passes.names(name) if key in PASSES else None
        if unknown:
            raise OptionError(f"this torch has no pass {min(unknown)} in {key}")
        by_module[module][name] = value
    with contextlib.ExitStack() as stack:
        for module, values in by_module.items():
            if values:
                stack.enter_context(modules[module].patch(values))
        yield
