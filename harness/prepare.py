"""Makes a process ready to run programs: environment, torch, preloads, warm-up.

Nothing here may import torch, or a module that does, before `import_torch` says so: the environment has to be set and
the observers have to watch by then.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import importlib.util
import os
import platform
import runpy
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import oracles
from ..execution.protocol import read_frame, write_frame
from ..torch_compat import imported_torch, installed_torch
from . import hooks, observers

if TYPE_CHECKING:
    from .runner import Context

# One thread everywhere: a parent that ever ran OpenMP with two makes its forked children hang.
BASE_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    # A cached graph would hide what the compiler does.
    "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def set_environment(target: Any, scratch: str) -> None:
    """Before torch is imported."""
    os.environ.update(BASE_ENVIRONMENT)
    os.environ.update(target.ENVIRONMENT)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(scratch, "inductor")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(scratch, "triton")
    warm = warm_folder()
    if warm.is_dir():
        shutil.copytree(warm, scratch, dirs_exist_ok=True, copy_function=_link_or_copy)
    for name in ("TORCH_LOGS", "TORCH_TRACE", "TORCH_COMPILE_DEBUG"):  # they would fill the disk
        os.environ.pop(name, None)


# The folders that a warm-up fills.
LEFT = ("inductor", "triton", "frontend", "units")


@cache
def warm_folder() -> Path:
    """Where a zygote finds what a warm-up leaves on this machine for this torch, Python and compiler: answers of the
    probes for instruction sets and precompiled headers. They cost 20 CPU seconds to make."""
    torch_file = importlib.util.find_spec("torch").origin
    compiler = shutil.which(os.environ.get("CXX", "g++")) or ""
    info = Path("/proc/cpuinfo")
    first = info.read_text().partition("\n\n")[0] if info.exists() else ""
    cpu = platform.machine() + "".join(x for x in first.splitlines() if x.startswith(("model name", "flags")))
    facts = [LEFT, torch_file, installed_torch(), os.stat(torch_file).st_mtime_ns, sys.version, cpu, compiler]
    if compiler:
        done = subprocess.run([compiler, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        facts.append(done.stdout)
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "fuzzgraph", "warm", key)


def share_warm(scratch: str) -> None:
    """Leave what the warm-up made for later zygotes, unless one has. Without a place to write it is made anew."""
    target = warm_folder()
    if target.is_dir():
        return
    part = target.with_name(f"{target.name}-{os.getpid()}")
    try:
        shutil.copytree(scratch, part, ignore=shutil.ignore_patterns("log"))
        part.rename(target)
    except (OSError, shutil.Error):  # another zygote was faster, or the disk is full or read-only
        shutil.rmtree(part, ignore_errors=True)


def _link_or_copy(source: str, target: str) -> str:
    """Files of 100 MB lie there: share them where both folders are on one disk. Nothing writes into them; what is
    there already, a log or an earlier copy, stays."""
    if os.path.exists(target):
        return target
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def import_torch(observe: bool) -> None:
    """Import torch and its compiler, under the observers, so that what imports run is their baseline."""
    if "torch" in sys.modules:
        raise RuntimeError("torch was imported too early")
    if observe:
        observers.start()
    import torch
    import torch._decomp
    import torch._dynamo
    import torch._functorch.aot_autograd
    import torch._functorch.config
    import torch._inductor.compile_fx
    import torch._inductor.config

    torch.set_num_threads(1)
    torch._inductor.config.fx_graph_cache = False
    torch._functorch.config.enable_autograd_cache = False


def preload(files: list[str]) -> list[dict[str, Any]]:
    """Execute users' files: each with its folder on sys.path; its `apply()` is called if it has one. Returns their
    namespaces. Raises what they raise."""
    spaces = []
    for file in files:
        path = Path(file).resolve()
        folder = str(path.parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        space = runpy.run_path(str(path), run_name=path.stem)
        if callable(space.get("apply")):
            space["apply"]()
        spaces.append(space)
    return spaces


def warm_up(observe: bool, found: hooks.Hooks) -> None:
    """One small compile with backward: the probes for the CPU's instruction sets (ten g++ runs) and the precompiled
    header are done once here, and the lines that every program covers are baseline.

    Backward runs in a child: it starts autograd's device threads, after which a process must not fork. The modules
    that it imported are imported here, and what programs ask for again and again is computed, so that children need
    not: all that costs a child up to a second of CPU time.
    """
    import torch

    torch.compile(lambda a: a + 1, dynamic=True)(torch.randn(8))
    torch._dynamo.reset()
    report = in_child(lambda: _backward_report(observe))
    for name in (*report["modules"], *in_child(lambda: {"modules": _imports(found)})["modules"]):
        importlib.import_module(name)
    for oracle in oracles.names():
        oracles.load(oracle)
    torch.overrides.get_overridable_functions()
    if found.triton_key is not None:
        found.triton_key()
    if observe:
        observers.freeze(report["features"])
    gc.collect()
    gc.freeze()


class _Pair:
    """For a program that makes an object."""

    def __init__(self, first: Any) -> None:
        self.first = first


def _imports(found: hooks.Hooks) -> list[str]:
    """Modules that the compiler imports when it first meets an object, a matrix product and a transposed tile."""
    import torch

    from .cover import no_compiler

    def program(a: Any, b: Any) -> Any:
        pair = _Pair(a.t() @ b)
        return pair.first.t().contiguous() + a.size(0)

    before = set(sys.modules)
    with no_compiler(found, []):
        torch.compile(program)(torch.randn(8, 7), torch.randn(8, 7))
    return _imported(before)


def _imported(before: set[str]) -> list[str]:
    """What was imported since. Generated kernels are modules below torch as well, but without a spec."""
    new = [(name, module) for name, module in sys.modules.items() if name not in before]
    return [name for name, module in new if name.startswith(("torch.", "sympy.")) and module.__spec__]


def _backward_report(observe: bool) -> dict[str, Any]:
    """Compile x+1 with backward; which torch modules that imported, and what the observers saw."""
    import torch

    torch.set_num_threads(1)  # for the same reason as in every child
    before = set(sys.modules)
    if observe:
        observers.begin(full=False)
    x = torch.randn(8, requires_grad=True)
    torch.compile(lambda a: a + 1, dynamic=True)(x).sum().backward()
    features = observers.end() if observe else {}
    return {"modules": _imported(before), "features": features}


def in_child(report: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `report` returns when run in a forked child. Raises RuntimeError where the child fails."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            write_frame(writer, report())
        except BaseException as e:
            traceback.print_exc()
            write_frame(writer, {"error": f"{type(e).__name__}: {str(e)[:500]}"})
            os._exit(1)
        os._exit(0)
    os.close(writer)
    message = read_frame(reader)
    os.close(reader)
    os.waitpid(pid, 0)
    if message is None or "error" in message:
        raise RuntimeError(f"the warm-up failed: {message['error'] if message else 'its child died'}")
    return message


def versions() -> dict[str, str]:
    return {**imported_torch(), "python": platform.python_version()}


def make_context(memory: int) -> Context:
    from .runner import Context

    return Context(hooks=hooks.probe(), versions=versions(), memory=memory)
