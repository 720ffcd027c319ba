"""Type inference by running an operator on FakeTensors, or on real ones, in a process that may hang or die.

`python -m fuzzgraph.harness.infer_server --in FD --out FD`

It reads {"id", "mode": "fake" | "eager", "items": [[op, args, kwargs, values], ...]}, packed as fuzzgraph.ir.wire does,
and writes {"id", "results": [[type, error, alias_of], ...], "cpu"}. `values` are by flat operand index: [kind, params,
seed]. Mode "dispatch" runs on FakeTensors and gives the operators that were dispatched in place of `alias_of`; mode
"catalog" has one result, what the compiler knows.
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
from ..torch_compat import imported_torch
from . import catalog, limits

# A representative of each Python scalar whose value the program does not fix. No 0 and no 1: shapes specialize on them.
_SCALARS = {"int": 2, "float": 1.5, "bool": True, "complex": 1 + 2j, "str": ""}
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
        if mode == "dispatch":
            return [self.dispatched(item) for item in items]
        return [self.one(mode, item) for item in items]

    def dispatched(self, item: list[Any]) -> list[Any]:
        """[packed type or None, error or None, names of what a call on FakeTensors dispatches]"""
        names: set[str] = set()
        found, error, _ = self.one("fake", item, catalog.recorder(names))
        return [found, error, sorted(names)]

    def one(self, mode: str, item: list[Any], around: Any = None) -> list[Any]:
        """[packed type or None, error or None, alias_of]. `around`: what to be in while the call and its backward
        run."""
        import torch

        op, args, kwargs, values = item
        try:
            function = self.resolve(op)
            operands = Operands(self, mode, {int(k): v for k, v in (values or {}).items()})
            args = self.wire.unpack_value(args)
            kwargs = self.wire.unpack_value(kwargs)
            with operands.world(), torch.enable_grad():
                args, kwargs = operands.make(args), operands.make(kwargs)
                found: list[int | None] = []
                with around or contextlib.nullcontext():
                    result = function(*args, **kwargs)
                    described = self.wire.pack_type(self.describe(result, operands, found))
                    try_backward(result)
            return [described, None, found]
        except Exception as e:
            first = str(e).strip().split("\n", 1)[0][:ERROR]
            return [None, f"{type(e).__name__}: {first}", []]

    def describe(self, value: Any, operands: Operands, found: list[int | None]) -> Any:
        """The value's Type; the operand that each of its tensors shares storage with is appended to `found`."""
        from .describing import describe

        # Positions cross the pipe, not names: `append` gives the alias None.
        return describe(value, lambda tensor: found.append(operands.sharing(tensor)))

    def fill(self, values: Any, dtype: str, count: int) -> Any:
        """A dense real tensor of these values, made by the code that makes programs' inputs."""
        from ..render import helpers
        from ..render.values import fill

        space = {**vars(helpers), "torch": sys.modules["torch"]}
        return eval(fill(values, dtype, (count,)), space)


def try_backward(result: Any) -> None:
    """Raise what backward through one call raises: no derivative, or one that does not fit these operands."""
    import torch
    from torch.utils._pytree import tree_leaves

    outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if outputs:
        torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])


class Operands:
    """Tensors for the types of one call, in flat order; operands with one alias root share a storage."""

    def __init__(self, server: Server, mode: str, values: dict[int, Any]) -> None:
        self.server, self.mode, self.values = server, mode, values
        self.tensors: list[Any] = []
        self.roots: dict[str, Any] = {}

    def world(self) -> Any:
        """What to be in while the call runs: a FakeTensorMode of its own, or the real world."""
        if self.mode == "eager":
            return contextlib.nullcontext()
        from torch._subclasses.fake_tensor import FakeTensorMode

        return FakeTensorMode()

    def make(self, value: Any) -> Any:
        """The arguments with a tensor or a sample in the place of each type."""
        t = self.server.types
        if isinstance(value, t.TensorType):
            self.tensors.append(self._tensor(value, len(self.tensors)))
            return self.tensors[-1]
        if isinstance(value, t.ScalarType):
            return _SCALARS[value.kind]
        if isinstance(value, t.SequenceType):
            return (list if value.kind == "list" else tuple)(self.make(v) for v in value.items)
        if isinstance(value, t.NoneType):
            return None
        if isinstance(value, t.AnyType):
            raise TypeError("an operand is opaque")
        if isinstance(value, tuple | list):
            return type(value)(self.make(v) for v in value)
        if isinstance(value, dict):
            return {k: self.make(v) for k, v in value.items()}
        return value

    def _tensor(self, kind: Any, index: int) -> Any:
        """Strides, offset and storage as the type has them. Where it requires grad it is no leaf, as intermediates
        are not: operators may write to those."""
        import torch

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
