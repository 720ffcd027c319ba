"""Kernels of several programs as one translation unit, so that comparing a program costs little C++.

Most of what g++ does for a kernel is to instantiate the pending templates of Inductor's header at the end of the unit:
0.4 CPU s, against 0.1 for a kernel (measured). The cover tier knows what kernels a program has; those of a batch that
is to be compared are compiled together, and `serving` puts them where torch would compile each by itself. A kernel that
is not among them takes torch's own path, as all of a program do when a finding is confirmed.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from .compiling import ENTRY, INCLUDE, Compiler, split_includes
from .hooks import Hooks

# Argument types of a kernel, and its source.
Kernel = tuple[Sequence[str], str]
# Room for the message of an exception that a kernel throws, in bytes.
MESSAGE = 2048
# 'static' keeps the kernels of a unit apart; what leaves it is an entry that takes any arguments and throws nothing.
_ENTRY = """\
extern "C" int {name}_entry(void** a, char* message) noexcept {{
  try {{ {name}::kernel({arguments}); return 0; }}
  catch (const std::exception& e) {{ __builtin_strncpy(message, e.what(), {size}); return 1; }}
  catch (...) {{ return 2; }}
}}"""


@dataclass
class Unit:
    """A library with kernels, found by their text."""

    path: Path
    names: dict[str, str] = field(default_factory=dict)
    _library: Any = None

    def binding(self, argtypes: Sequence[str], source: str) -> Callable[..., None] | None:
        """What torch would have made of the kernel, or None where it is not in the unit, or the unit does not load."""
        name = self.names.get(_key(argtypes, source))
        if name is None:
            return None
        if self._library is None:
            try:
                self._library = ctypes.CDLL(str(self.path), mode=os.RTLD_NOW)
            except OSError:  # a symbol is undefined: torch's own path shows in which of the kernels
                self.names = {}
                return None
        return _Binding(argtypes, self._library[f"{name}_entry"])

    @contextmanager
    def serving(self, hooks: Hooks) -> Iterator[None]:
        """Inside, Inductor gets these kernels without a compiler."""
        cache = hooks.bindings_cache
        original = cache.load_pybinding.__func__

        def load_pybinding(cls, argtypes, *args, **kwargs):
            found = self.binding(argtypes, args[0]) if cls is cache and args and isinstance(args[0], str) else None
            return original(cls, argtypes, *args, **kwargs) if found is None else found

        with patch.object(cache, "load_pybinding", classmethod(load_pybinding)):
            yield


class Units:
    """Makes units in `folder`. Not `available` where the compiler is not, or torch binds kernels in another way."""

    def __init__(self, hooks: Hooks, folder: Path) -> None:
        self.compiler = Compiler(hooks, folder, linking=True)
        self.available = self.compiler.available and hooks.bindings_cache is not None
        self._serial = 0

    def build(self, kernels: Sequence[Kernel]) -> Unit | None:
        """One library of all kernels; None where there are none, or where they do not compile together."""
        distinct = {_key(*kernel): kernel for kernel in kernels}
        if not distinct or not self.available:
            return None
        self._serial += 1
        source = self.compiler.folder / f"unit{os.getpid()}-{self._serial}.cpp"
        unit = Unit(source.with_suffix(".so"), {key: f"kernel{i}" for i, key in enumerate(distinct)})
        source.write_text(text(list(distinct.values())))
        try:
            done = self.compiler.run(str(source), "-o", str(unit.path))
        except subprocess.TimeoutExpired:
            return None
        finally:
            source.unlink(missing_ok=True)
        return unit if done.returncode == 0 and unit.path.exists() else None


def text(kernels: Sequence[Kernel]) -> str:
    """The unit: each kernel in a namespace of its own, with its entry."""
    parts = [split_includes(source) for _, source in kernels]
    includes = sorted({line for found, _ in parts for line in found} - {INCLUDE})
    blocks = [*includes, "#include <exception>"]
    for i, ((argtypes, _), (_, body)) in enumerate(zip(kernels, parts, strict=True)):
        name = f"kernel{i}"
        arguments = ", ".join(_argument(kind, at) for at, kind in enumerate(argtypes))
        blocks += [
            f"namespace {name} {{", ENTRY.sub("static void kernel(", body), "}",
            _ENTRY.format(name=name, arguments=arguments, size=MESSAGE - 1),
        ]  # fmt: skip
    return "\n".join(blocks) + "\n"


def _argument(kind: str, at: int) -> str:
    plain = kind.replace("const", "").strip()
    if plain.endswith("*"):
        return f"({kind})a[{at}]"
    return f"*({plain}*)&a[{at}]" if plain in ("float", "double") else f"({plain})(intptr_t)a[{at}]"


def _key(argtypes: Sequence[str], source: str) -> str:
    return hashlib.sha256("\0".join([*argtypes, source]).encode()).hexdigest()


class _Binding:
    """Called like torch's binding of a kernel: with tensors, integers and floats."""

    def __init__(self, argtypes: Sequence[str], entry: Any) -> None:
        self._kinds = [kind.replace("const", "").strip() for kind in argtypes]
        self._entry = entry

    def __call__(self, *args: Any) -> None:
        given = (ctypes.c_uint64 * max(1, len(self._kinds)))()
        for i, (kind, value) in enumerate(zip(self._kinds, args, strict=True)):
            given[i] = _word(kind, value)
        message = ctypes.create_string_buffer(MESSAGE)
        if self._entry(given, message):
            raise RuntimeError(message.value.decode(errors="replace") or "unhandled error")


def _word(kind: str, value: Any) -> int:
    """An argument as the 8 bytes that the entry reads."""
    if kind.endswith("*"):
        return int(value.data_ptr()) if hasattr(value, "data_ptr") else int(value)
    if kind == "float":
        return int(struct.unpack("<Q", struct.pack("<fI", value, 0))[0])
    if kind == "double":
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    return int(value) & 0xFFFF_FFFF_FFFF_FFFF
