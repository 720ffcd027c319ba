"""Type inference by running an operator on FakeTensors, or on real ones, in a process that may hang or die.

`python -m fuzzgraph.harness.infer_server --in FD --out FD`

It reads {"id", "mode": "fake" | "eager", "items": [[op, args, kwargs, values], ...]}, packed as fuzzgraph.ir.wire does,
and writes {"id", "results": [[type, error, alias_of, called], ...], "cpu"}. `values` are by flat operand index: [kind,
params, seed]. Mode "dispatch" runs on FakeTensors and gives the operators that were dispatched in place of `alias_of`;
modes "catalog" and "patterns" have one result, what the compiler knows.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from ..execution.protocol import read_frame, write_frame
from ..ir import nested
from ..torch_compat import imported_torch
from . import catalog, limits, patterns

# A representative of each Python scalar whose value the program does not fix. No 0 and no 1: shapes specialize on them.
_SCALARS = {"int": 2, "float": 1.5, "bool": True, "complex": 1 + 2j, "str": ""}
# What makes a number of the data of a tensor.
_OF_DATA = (bool, int, float)
# What FakeTensors without symbols raise where a result's number or size is of data.
_ASKS_DATA = ("DataDependentOutputException", "DynamicOutputShapeException", "GuardOnDataDependentSymNode")
# Where sizes depend on data there are, for eager, so many.
_SIZE = 3
ERROR = 300


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="infer_server")
    parser.add_argument("--in", dest="source", type=int, required=True)
    parser.add_argument("--out", dest="sink", type=int, required=True)
    args = parser.parse_args(argv)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.environ.update({"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"})
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    # Outside of compiled code, operators such as cond compile the functions that they get. Nothing is compiled here.
    torch.compile = lambda function=None, **_: function
    server = Server()
    server.warm_up()
    write_frame(args.sink, {"id": -1, **imported_torch()})
    while True:
        request = read_frame(args.source)
        if request is None:
            if Path.cwd().name.startswith("fuzzgraph-infer-"):  # made for this process; the client may be dead
                shutil.rmtree(Path.cwd(), ignore_errors=True)
            os._exit(0)
        results = server.answer(request["mode"], request["items"])
        write_frame(args.sink, {"id": request["id"], "results": results, "cpu": limits.own_cpu()})


class Server:
    """Answers one item at a time; keeps nothing between items but caches of torch's own."""

    def __init__(self) -> None:
        from ..ir import builtins, types, wire
        from ..ir.values import Values, default_kind

        self.types, self.wire, self.resolve = types, wire, builtins.resolve
        self.Values, self.default_kind = Values, default_kind
        self._makers: dict[str, Any] = {}

    def warm_up(self) -> None:
        """The first call imports much, which must not count against the first request's time."""
        args = self.wire.pack_value((self.types.tensor("f32", (2,)), 1))
        self.one("fake", ["add", args, self.wire.pack_value({}), None])

    def answer(self, mode: str, items: list[Any]) -> list[Any]:
        """The results of one request."""
        if mode == "catalog":
            try:
                return [catalog.catalog()]
            except ImportError as e:
                return [{"error": str(e)}]
        if mode == "patterns":
            try:
                return [{"patterns": patterns.cached()}]
            except RuntimeError as e:
                return [{"error": str(e)}]
        if mode == "dispatch":
            return [self.dispatched(item) for item in items]
        return [self.one(mode, item) for item in items]

    def dispatched(self, item: list[Any]) -> list[Any]:
        """[packed type or None, error or None, names of what a call on FakeTensors dispatches]"""
        names: set[str] = set()
        found, error, *_ = self.one("fake", item, catalog.recorder(names))
        return [found, error, sorted(names), []]

    def one(self, mode: str, item: list[Any], around: Any = None) -> list[Any]:
        """[packed type or None, error or None, alias_of, called]. `around`: what to be in while the call and its
        backward run."""
        op, args, kwargs, values = item
        given = {int(k): v for k, v in (values or {}).items()}
        try:
            call = self.resolve(op), self.wire.unpack_value(args), self.wire.unpack_value(kwargs)
            if nested.has_code(call[1:]):
                return self.nested(*call, Operands(self, mode, given))
        except Exception as e:
            return _error(e)
        # FakeTensors need symbols for what depends on data: of the operands, or (they then raise) of the result.
        symbolic = mode == "fake" and self.open(call[1:])
        try:
            return self._run(call, Operands(self, mode, given, symbolic), around)
        except Exception as e:
            first = e
        if mode == "eager" or (not symbolic and type(first).__name__ not in _ASKS_DATA):
            return _error(first)
        try:
            # Not every operator takes a symbol for a number: then a sample stands for it.
            return self._run(call, Operands(self, mode, given, not symbolic), around)
        except Exception as e:
            return _error(first if symbolic else e)

    def _run(self, call: Any, operands: Operands, around: Any) -> list[Any]:
        import torch

        function, args, kwargs = call
        found: list[int | None] = []
        with operands.world(), torch.enable_grad():
            args, kwargs = operands.make(args), operands.make(kwargs)
            if self.types_data(function, args, operands):
                return [self.wire.pack_type(self.types.ScalarType(function.__name__)), None, [], []]
            with around or contextlib.nullcontext():
                result = function(*args, **kwargs)
                described = self.wire.pack_type(self.describe(result, operands, found))
                if not operands.symbolic:  # backward asks what sizes that depend on data are
                    try_backward(result)
        return [described, None, found, []]

    @staticmethod
    def types_data(function: Any, args: Any, operands: Operands) -> bool:
        """Whether a call makes a number of the data of a FakeTensor: it would raise."""
        import torch

        return operands.mode != "eager" and function in _OF_DATA and bool(args) and isinstance(args[0], torch.Tensor)

    def open(self, value: Any) -> bool:
        """Whether an integer or a size among operands depends on data."""
        t = self.types
        if isinstance(value, slice):
            value = (value.start, value.stop, value.step)
        if isinstance(value, tuple | list | t.SequenceType):
            return any(map(self.open, getattr(value, "items", value)))
        if isinstance(value, dict):
            return any(map(self.open, value.values()))
        return isinstance(value, t.UnsizedType) or value == t.ScalarType("int")

    def nested(self, function: Any, args: Any, kwargs: Any, operands: Operands) -> list[Any]:
        """As `one`, for an operator that calls functions. It runs without autograd, which such operators trace with
        several seconds of imports; a float result of operands that require grad requires grad."""
        import torch

        with operands.world(nested=True), torch.no_grad():
            args, kwargs = operands.make(args), operands.make(kwargs)
            found: list[int | None] = []
            kind = self.describe(function(*args, **kwargs), operands, found)
        called = [[self.wire.pack_type(t) for t in f.called or ()] for f in operands.functions]
        return [self.wire.pack_type(nested.with_grad(kind) if operands.grad else kind), None, found, called]

    def shapes(self, values: tuple[Any, ...]) -> list[Any]:
        """The types of operands inside a transform, where strides and storage may not be asked for."""
        import torch

        t = self.types
        return [
            t.tensor(t.FROM_TORCH[v.dtype], tuple(map(int, v.shape))) if isinstance(v, torch.Tensor)
            else self.describe(v, Operands(self, "fake", {}), [])
            for v in values
        ]  # fmt: skip

    def describe(self, value: Any, operands: Operands, found: list[int | None]) -> Any:
        """The value's Type; the operand that each of its tensors shares storage with is appended to `found`."""
        from .describing import describe

        # Positions cross the pipe, not names: `append` gives the alias None.
        return describe(value, lambda tensor: found.append(operands.sharing(tensor)), not operands.unknown)

    def fill(self, values: Any, dtype: str, count: int) -> Any:
        """A dense real tensor of these values, made by the code that makes programs' inputs."""
        from ..render import helpers
        from ..render.values import fill

        space = {**vars(helpers), "torch": sys.modules["torch"]}
        return eval(fill(values, dtype, (count,)), space)


def _error(e: Exception) -> list[Any]:
    return [None, f"{type(e).__name__}: {str(e).strip().partition(chr(10))[0][:ERROR]}", [], []]


def try_backward(result: Any) -> None:
    """Raise what backward through one call raises: no derivative, or one that does not fit these operands."""
    import torch
    from torch.utils._pytree import tree_leaves

    outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if outputs:
        torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])


class Operands:
    """Tensors for the types of one call, in flat order; operands with one alias root share a storage."""

    def __init__(self, server: Server, mode: str, values: dict[int, Any], symbolic: bool = False) -> None:
        self.server, self.mode, self.values, self.symbolic = server, mode, values, symbolic
        self.unknown = False  # whether a sample stands for a scalar that the program does not fix
        self.shapes: Any = None
        self.tensors: list[Any] = []
        self.functions: list[Any] = []
        self.grad = False  # whether any of them is to require grad
        self.roots: dict[str, Any] = {}

    def world(self, nested: bool = False) -> Any:
        """What to be in while the call runs: a FakeTensorMode of its own, or the real world. `nested`: loops yield
        sizes that are not known."""
        if self.mode == "eager":
            return contextlib.nullcontext()
        from torch._subclasses.fake_tensor import FakeTensorMode

        if not self.symbolic and not nested:
            return FakeTensorMode()
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        self.shapes = ShapeEnv()
        return FakeTensorMode(shape_env=self.shapes)

    def make(self, value: Any) -> Any:
        """The arguments with a tensor or a sample in the place of each type."""
        t = self.server.types
        if isinstance(value, t.TensorType):
            self.grad = self.grad or value.requires_grad
            self.tensors.append(self._tensor(value, len(self.tensors)))
            return self.tensors[-1]
        if isinstance(value, t.UnsizedType):
            self.tensors.append(self._unsized(value, len(self.tensors)))
            return self.tensors[-1]
        if isinstance(value, t.ScalarType):
            return self._scalar(value)
        if isinstance(value, t.SequenceType):
            return (list if value.kind == "list" else tuple)(self.make(v) for v in value.items)
        if isinstance(value, t.NoneType):
            return None
        if isinstance(value, t.FunctionType):
            self.functions.append(nested.Runnable(value.code, self.server.shapes))
            return self.functions[-1]
        if isinstance(value, t.AnyType):
            raise TypeError("an operand is opaque")
        if isinstance(value, tuple | list):
            return type(value)(self.make(v) for v in value)
        if isinstance(value, dict):
            return {k: self.make(v) for k, v in value.items()}
        if isinstance(value, slice):
            return slice(self.make(value.start), self.make(value.stop), self.make(value.step))
        return value

    def _scalar(self, kind: Any) -> Any:
        """The number, or a sample of what the program does not fix: a symbol where there are such."""
        if kind.value is not None:
            return kind.value
        self.unknown = True
        if self.symbolic and kind.kind == "int":
            return self.shapes.create_unbacked_symint()
        return _SCALARS[kind.kind]

    def _unsized(self, kind: Any, index: int) -> Any:
        """A tensor whose unknown sizes have symbols; of a few elements in eager, each its own."""
        import torch

        if self.mode == "eager":
            shape = tuple(_SIZE if n is None else n for n in kind.shape)
            return self._tensor(self.server.types.tensor(kind.dtype, shape), index)
        if not self.symbolic:
            raise TypeError("a size depends on data")
        sizes = []
        for n in kind.shape:
            sizes.append(self.shapes.create_unbacked_symint() if n is None else n)
            torch._check(sizes[-1] >= 0)
        made = torch.empty(sizes, dtype=kind.torch_dtype, device=kind.device)
        return made.requires_grad_().clone() if kind.requires_grad else made

    def _tensor(self, kind: Any, index: int) -> Any:
        """Strides, offset and storage as the type has them. Where it requires grad it is no leaf, as intermediates
        are not: operators may write to those. What is laid out plainly and shares its memory with none is no view,
        which some operators refuse."""
        import torch

        if not kind.alias and not kind.offset and kind.stride == self.server.types.contiguous_strides(kind.shape):
            made = self._storage(kind, index).reshape(kind.shape)
            return (made.requires_grad_() if kind.requires_grad else made).clone()
        root = self.roots.get(kind.alias) if kind.alias else None
        if root is None or root.numel() < kind.extent or root.dtype != kind.torch_dtype:
            root = self._storage(kind, index)
            if kind.requires_grad:
                root = root.requires_grad_().clone()
            if kind.alias:
                self.roots[kind.alias] = root
        return torch.as_strided(root, kind.shape, kind.stride, kind.offset)

    def _storage(self, kind: Any, index: int) -> Any:
        import torch

        if self.mode == "fake":
            return torch.empty(kind.extent, dtype=kind.torch_dtype, device=kind.device)
        given = self.values.get(index)
        make = self.server.Values
        values = make(given[0], tuple(given[1]), given[2]) if given else make(self.server.default_kind(kind.dtype))
        return self.server.fill(values, kind.dtype, kind.extent)

    def sharing(self, result: Any) -> int | None:
        """Flat index of the first operand with the result's storage."""
        storage = result.untyped_storage()._cdata
        for i, tensor in enumerate(self.tensors):
            if tensor is result or tensor.untyped_storage()._cdata == storage:
                return i
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
