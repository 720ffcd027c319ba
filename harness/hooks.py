"""Private names of torch that the harness uses. Each is looked for at start; one that is gone is switched off alone.

Nothing else in the harness reaches for a private name without either asking here or living without it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Hooks:
    """What was found. None or empty: that part is off, and `notices` says so in one line each."""

    bindings_cache: Any = None  # class whose load_pybinding compiles a kernel and returns its Python binding
    builders: list[tuple[Any, str]] = field(default_factory=list)  # functions that start the C++ compiler
    guard_profiler: tuple[Any, str] | None = None  # times each guard manager, for logs only
    triton_key: Callable[[], Any] | None = None  # a hash of all of Triton's files
    quiet_dynamo: dict[str, Any] = field(default_factory=dict)  # settings that cost time and change nothing else
    emulate_casts: bool = False
    kernel_command: Callable[[], str] | None = None  # Inductor's command line for a CPU kernel
    bisector: Any = None  # torch's CompilerBisector
    compile_fx: Any = None  # the module with compile_fx and compile_fx_inner
    notices: list[str] = field(default_factory=list)

    def find(self, module: str, name: str, without: str) -> Any:
        """The object, or None with a notice of what is off without it."""
        try:
            owner = importlib.import_module(module)
            for part in name.split("."):
                owner = getattr(owner, part)
            return owner
        except (ImportError, AttributeError):
            self.notices.append(f"this torch has no {module}.{name}: {without}")
            return None


def probe() -> Hooks:
    """Look for everything; called once, after torch's import."""
    hooks = Hooks()
    cache = hooks.find(
        "torch._inductor.codecache", "CppPythonBindingsCodeCache", "the cover tier stops before the first kernel"
    )
    if cache is not None and hasattr(cache, "load_pybinding"):
        hooks.bindings_cache = cache
    for name in ("CppBuilder.build", "run_compile_cmd", "_run_compile_cmd"):
        if hooks.find("torch._inductor.cpp_builder", name, "the cover tier may run g++") is not None:
            owner = importlib.import_module("torch._inductor.cpp_builder")
            head, _, last = name.rpartition(".")
            hooks.builders.append((getattr(owner, head) if head else owner, last))
    guards = "torch._dynamo.guards"
    if hooks.find(guards, "profile_guard_manager", "programs take 12 % longer") is not None:
        hooks.guard_profiler = (importlib.import_module(guards), "profile_guard_manager")
    without = "each program with a matrix product costs 0.4 s more"
    hooks.triton_key = hooks.find("torch._inductor.codecache", "triton_key", without)
    without = "findings are not bisected to a subsystem and a pass"
    if hooks.find("torch._inductor.compiler_bisector", "CompilerBisector.do_bisect", without) is not None:
        hooks.bisector = importlib.import_module("torch._inductor.compiler_bisector").CompilerBisector
    without = "findings are not narrowed down to a node"
    if hooks.find("torch._inductor.compile_fx", "compile_fx_inner", without) is not None:
        hooks.compile_fx = importlib.import_module("torch._inductor.compile_fx")
    _settings(hooks)
    return hooks


def _settings(hooks: Hooks) -> None:
    without = "kernels are not checked as C++ before they are compiled"
    builder = hooks.find("torch._inductor", "cpp_builder", without)
    isa = hooks.find("torch._inductor", "cpu_vec_isa", without)
    if builder is not None and isa is not None:
        hooks.kernel_command = lambda: kernel_command(builder, isa)
    dynamo = importlib.import_module("torch._dynamo.config")
    for name, value in (("run_gc_after_compile", False), ("gc_gen2_threshold_during_compile", None)):
        if hasattr(dynamo, name):
            hooks.quiet_dynamo[name] = value
    inductor = importlib.import_module("torch._inductor.config")
    hooks.emulate_casts = hasattr(inductor, "emulate_precision_casts")
    if not hooks.emulate_casts:
        hooks.notices.append("this torch has no emulate_precision_casts: low-precision mismatches are not re-judged")
    for name in ("torch._dynamo.utils.counters", "torch._dynamo.utils.same"):
        module, _, attribute = name.rpartition(".")
        hooks.find(module, attribute, "the counter feature or the float64 judge is off")


# Name of the source in the command line that is asked for; it is taken out again.
KERNEL_FILE = "/fuzzgraph-kernel.cpp"


def kernel_command(builder: Any, isa: Any) -> str:
    """The command line by which Inductor compiles a vectorized CPU kernel here."""
    options = builder.CppTorchDeviceOptions(vec_isa=isa.pick_vec_isa(), device_type="cpu")
    made = builder.CppBuilder(name="fuzzgraph-kernel", sources=KERNEL_FILE, BuildOption=options, output_dir="/")
    return str(made.get_command_line())
